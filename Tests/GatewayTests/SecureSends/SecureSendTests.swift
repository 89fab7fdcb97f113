import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

/// A gateway in front of a hub, with secure sends.
func secureGateway(
    _ senders: [RuleSubject] = [], lifetime: Duration = .seconds(3600), limits: [Limit] = [],
    adjust: (inout CompiledConfiguration) -> Void = { _ in },
    answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = { _ in .status(201, "") }
) -> TestGateway {
    TestGateway(
        adjust: { rules in
            rules.upstreams[0].hub = HubSettings(
                connection: try! HubConnectionString(
                    "Endpoint=sb://hub.test/;SharedAccessKeyName=Send;SharedAccessKey=0123456789abcdef"), name: "demo")
            rules.upstreams[0].backend = .hub
            rules.secureSends = SecureSendRules(senders: senders, lifetime: lifetime)
            rules.limiter = Limiter(limits, clocks: ManualClock().clocks)
            adjust(&rules)
        }, answering: response)
}

@Suite("Secure sends", .timeLimit(.minutes(2))) struct SecureSendTests {
    private static func send(
        _ query: String = "&secure=true", pns: String = "apns", to recipient: String = "bob", as user: String = "alice"
    ) -> ReceivedRequest {
        ReceivedRequest("POST /api/notifications?pns=\(pns)&to_tag=\(recipient)\(query)", as: user, json: #""secret""#)
    }

    @Test(
        "The push contains the id where the tutorial's clients read it, and no byte of the text",
        arguments: [
            ("apns", #"{"aps":{"content-available":1},"secureId":"1000"}"#, "application/json;charset=utf-8"),
            ("gcm", #"{"message":{"data":{"secureId":"1000"}}}"#, "application/json;charset=utf-8"),
            ("wns", "1000", "application/octet-stream"),
        ])
    func payloads(pns: String, payload: String, type: String) async throws {
        let gateway = secureGateway()
        #expect(await gateway.serve(Self.send(pns: pns)).status == 200)
        let request = try #require(gateway.backend.requests.first)
        #expect(request.body == Array(payload.utf8) && request.field("Content-Type") == type)
        #expect(request.field("X-WNS-Type") == (pns == "wns" ? "wns/raw" : nil))
        #expect(request.field("apns-push-type") == (pns == "apns" ? "background" : nil))
        #expect(request.field("apns-priority") == (pns == "apns" ? "5" : nil))
        let stored = try #require(gateway.texts.texts.first?.value)
        #expect(stored.owner.text == "bob" && stored.text.text == "secret")
        #expect(stored.text.expiry == gateway.clock.clocks.wall().adding(3_600_000_000))
    }

    @Test("The intent is recorded first, then the text is stored, then the push leaves")
    func order() async throws {
        let gateway = secureGateway()
        #expect(await gateway.serve(Self.send()).status == 200)
        #expect(gateway.timeline.words == ["recorded", "text-stored", "exchanged", "outcome"])
        for kind in [JournalRecord.Kind.intent, .outcome] {
            let facts = try #require(gateway.journal.records(kind).first?.facts)
            #expect(facts.isSecure && facts.secureID?.number == 1000 && facts.bytes == 6)
        }
        #expect(gateway.texts.reserved.isEmpty)
    }

    @Test("Configured senders and groups need no parameter, others ask for it, and false does not switch it off")
    func senders() async throws {
        let group = try #require(GroupName("dispatch"))
        for (senders, query, user, isSecure) in [
            ([RuleSubject.anyUser], "", "eve", true), ([.anyUser], "&secure=false", "eve", true),
            ([.group(group)], "", "alice", true), ([.group(group)], "", "eve", false),
            ([.user(UserName(canonical: "eve")!)], "", "eve", true), ([.group(group)], "&secure=true", "eve", true),
            ([], "", "alice", false), ([], "&secure=false", "alice", false), ([], "&secure=true", "alice", true),
        ] {
            let gateway = secureGateway(senders)
            #expect(await gateway.serve(Self.send(query, as: user)).status == 200)
            #expect(gateway.texts.texts.isEmpty != isSecure, "\(senders) \(query) \(user)")
            #expect(gateway.journal.records(.intent).first?.facts?.isSecure == isSecure)
            let body = try #require(gateway.backend.requests.first?.body)
            #expect(String(decoding: body, as: UTF8.self).contains("secret") != isSecure)
        }
    }

    @Test("The parameter is strict, and unknown to a gateway without secure sends")
    func parameter() async throws {
        let gateway = secureGateway()
        for query in [
            "&secure=", "&secure=TRUE", "&secure=1", "&secure=yes", "&secure=true&secure=true", "&secur=true",
        ] {
            await gateway.expect(.malformedRequest, for: Self.send(query), "\(query)")
        }
        await TestGateway().expect(.malformedRequest, for: Self.send())
    }

    @Test("A full store or a recipient without room gets 507; nothing is recorded as sent, and nothing leaves")
    func full() async throws {
        let gateway = secureGateway()
        gateway.texts.setFull(true)
        #expect(await gateway.expect(.textsFull, for: Self.send()).status == 507)
        gateway.texts.setFull(false)
        gateway.texts.fill(try #require(UserName(canonical: "bob")))
        await gateway.expect(.textsFull, for: Self.send())
        gateway.journal.append(JournalRecord(.start))
        #expect(await gateway.serve(Self.send(to: "carol")).status == 200)
    }

    @Test("If the text cannot be stored the push does not leave, and its intent has an outcome")
    func unavailable() async throws {
        let gateway = secureGateway()
        gateway.texts.fail(SecureTextsUnavailable("disk"))
        let response = await gateway.serve(Self.send())
        #expect(response.status == 503 && response.code == .textsUnavailable && !response.values("Retry-After").isEmpty)
        #expect(gateway.timeline.words == ["recorded", "outcome"])
        #expect(gateway.journal.records(.outcome).first?.result == "texts-unavailable")
        #expect(gateway.texts.reserved.isEmpty && gateway.backend.requests.isEmpty)
    }

    @Test("If the journal cannot be written, neither text nor push is left")
    func noJournal() async throws {
        let gateway = secureGateway()
        gateway.journal.fail(JournalUnavailable("disk"))
        #expect(await gateway.serve(Self.send()).code == .journalUnavailable)
        #expect(gateway.texts.texts.isEmpty && gateway.texts.reserved.isEmpty && gateway.backend.requests.isEmpty)
    }

    @Test("A text is removed if its push surely did not leave, and stays if that is unknown")
    func unsent() async throws {
        for (result, isKept) in [
            (BackendResult.unreachable("x"), false), (.circuitOpen, false), (.overloaded, false), (.timedOut, true),
            (.broken("x"), true), (.status(500, ""), true), (.gatewayStopped, true),
        ] {
            let gateway = secureGateway(answering: { _ in result })
            #expect(await gateway.serve(Self.send()).status >= 500)
            #expect(gateway.texts.texts.isEmpty != isKept, "\(result)")
        }
    }

    @Test("Each member of an audience gets an id of its own; one without room is skipped")
    func audience() async throws {
        let oncall = try #require(AudienceName("oncall"))
        let members = try ["bob", "carol", "eve"].map { try #require(UserName(canonical: $0)) }
        let gateway = secureGateway { rules in
            rules.policy.audiences = [oncall: members]
            rules.policy.send = [.init(from: .anyUser, to: .audience(oncall))]
        }
        gateway.texts.fill(members[1])
        let response = await gateway.serve(Self.send(to: "audience:oncall"))
        #expect(response.text == #"{"accepted":2,"skipped":1,"failed":0}"#)
        #expect(gateway.timeline.words.prefix(2) == ["recorded", "text-stored"])
        let intents = gateway.journal.records(.intent).compactMap(\.facts)
        #expect(intents.map(\.recipient) == [members[0], members[2]])
        #expect(intents.map { $0.secureID?.number } == [1000, 1001] && intents.allSatisfy(\.isSecure))
        let outcomes = gateway.journal.records(.outcome).compactMap(\.facts)
        #expect(Set(outcomes) == Set(intents))
        let skipped = try #require(gateway.journal.records(.rejection).first?.facts)
        #expect(skipped.recipient == members[1] && skipped.limit == "texts" && skipped.secureID == nil)
        for request in gateway.backend.requests {
            let tag = try #require(request.field("ServiceBusNotification-Tags"))
            let number = tag == "username:bob" ? "1000" : "1001"
            #expect(String(decoding: request.body, as: UTF8.self).contains("\"secureId\":\"\(number)\""))
        }
        #expect(gateway.texts.texts.mapValues(\.owner).values.sorted() == [members[0], members[2]])
    }

    @Test("An audience without room for anybody is sent to nobody")
    func fullAudience() async throws {
        let oncall = try #require(AudienceName("oncall"))
        let bob = try #require(UserName(canonical: "bob"))
        let gateway = secureGateway { rules in
            rules.policy.audiences = [oncall: [bob]]
            rules.policy.send = [.init(from: .anyUser, to: .audience(oncall))]
        }
        gateway.texts.fill(bob)
        #expect(await gateway.serve(Self.send(to: "audience:oncall")).status == 502)
        #expect(gateway.backend.requests.isEmpty && gateway.texts.reserved.isEmpty)
    }

    @Test("A scheduled send is listed from its time on, and is rejected beyond the lifetime of its text")
    func scheduled() async throws {
        let gateway = secureGateway(lifetime: .seconds(3600))
        func at(_ seconds: Int64) -> String {
            "&secure=true&at=\(gateway.clock.clocks.wall().adding(seconds * 1_000_000))"
        }
        await gateway.expect(.malformedRequest, for: Self.send(at(3600)))
        #expect(await gateway.serve(Self.send(at(3599))).status == 200)
        let stored = try #require(gateway.texts.texts.first?.value)
        #expect(stored.text.delivery == gateway.clock.clocks.wall().adding(3_599_000_000))
        #expect(gateway.backend.requests.first?.target.contains("/schedulednotifications") == true)
    }

    @Test("Cancelling a scheduled send removes its text; a reference with another id is not the gateway's")
    func cancelled() async throws {
        let gateway = secureGateway(answering: { request in
            guard request.method == "POST" else { return .status(200, "") }
            var response = BackendResponse(status: 201)
            response.location = "https://hub.test/demo/schedulednotifications/n-1"
            return .responded(response)
        })
        let query = "&secure=true&at=\(gateway.clock.clocks.wall().adding(60_000_000))"
        let place = try #require(await gateway.serve(Self.send(query)).values("Location").first)
        #expect(place.hasPrefix("/auth/scheduled/n-1.1000."))
        for changed in [place.replacing(".1000.", with: ".1001."), place.replacing(".1000.", with: ".")] {
            #expect(await gateway.serve(ReceivedRequest("DELETE \(changed)", as: "alice")).code == .notOwner)
        }
        #expect(gateway.texts.texts.count == 1)
        #expect(await gateway.serve(ReceivedRequest("DELETE \(place)", as: "alice")).status == 204)
        #expect(gateway.texts.texts.isEmpty)
        #expect(gateway.backend.requests.last?.target.contains("/schedulednotifications/n-1?") == true)
    }

    @Test("A repetition by an idempotency key stores nothing, and a send that was not made may be made again")
    func idempotency() async throws {
        let isFailing = Atomic(false)
        let gateway = secureGateway(answering: { _ in
            isFailing.load(ordering: .relaxed) ? .unreachable("x") : .status(201, "")
        })
        func request(_ key: String) -> ReceivedRequest {
            var request = Self.send()
            request.idempotencyKey = .text(key)
            return request
        }
        for _ in 0..<2 { #expect(await gateway.serve(request("a")).status == 200) }
        #expect(gateway.texts.texts.count == 1 && gateway.backend.requests.count == 1)
        gateway.texts.setFull(true)
        #expect(await gateway.serve(request("b")).code == .textsFull)
        gateway.texts.setFull(false)
        isFailing.store(true, ordering: .relaxed)
        #expect(await gateway.serve(request("b")).status == 502)
        isFailing.store(false, ordering: .relaxed)
        #expect(await gateway.serve(request("b")).status == 200)
        #expect(gateway.texts.texts.count == 2)
    }

    @Test("A text longer than a push may be is sent, up to the limit of a body")
    func longText() async throws {
        let gateway = secureGateway()
        let text = String(repeating: "x", count: 15_000)
        let request = ReceivedRequest(
            "POST /api/notifications?pns=apns&to_tag=bob&secure=true", as: "alice", json: "\"\(text)\"")
        #expect(await gateway.serve(request).status == 200)
        #expect(gateway.texts.texts.first?.value.text.text == text)
    }

    @Test("A send that is not secure touches no store")
    func notSecure() async throws {
        let gateway = secureGateway()
        #expect(await gateway.serve(Self.send("")).status == 200)
        #expect(gateway.timeline.words == ["recorded", "exchanged", "outcome"])
        #expect(gateway.texts.texts.isEmpty && gateway.texts.lookups == 0)
    }

    @Test("explain shows that a send is secure, and its request with a placeholder")
    func explanation() async throws {
        let gateway = secureGateway()
        let clock = ManualClock()
        var rules = TestGateway.rules(clock: clock)
        rules.upstreams[0].hub = HubSettings(
            connection: try HubConnectionString(
                "Endpoint=sb://hub.test/;SharedAccessKeyName=Send;SharedAccessKey=0123456789abcdef"), name: "demo")
        rules.upstreams[0].backend = .hub
        rules.secureSends = SecureSendRules(senders: [])
        let dryRun = DryRun(
            rules: rules, ledger: gateway.ledger, sessions: gateway.sessions, clocks: clock.clocks,
            digester: KeyedDigester(key: Secret(Array(repeating: 7, count: 32))))
        let alice = Identity(user: try #require(UserName(canonical: "alice")), groups: [], authenticator: "explain")
        let explanation = await dryRun.explain(Self.send(), as: alice, login: LoginName("alice"))
        #expect(explanation.isSecure)
        guard case .forwarded(let requests, _) = explanation.outcome else {
            Issue.record("\(explanation.outcome)")
            return
        }
        #expect(requests.count == 1)
        #expect(requests[0].text.hasSuffix(#"{"aps":{"content-available":1},"secureId":"{id}"}"#))
        #expect(await dryRun.explain(Self.send(""), as: alice, login: LoginName("alice")).isSecure == false)
    }
}

extension CapturedRequest {
    /// Returns the value of a field that occurs at most once.
    fileprivate func field(_ name: String) -> String? { values(name).first }
}
