import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(10))) struct DryRunTests {
    @Test(
        "The dry run and the pipeline agree on random calls",
        arguments: [BackendProfile.BuiltIn.classic, .core, .net6], [false, true])
    func theDryRunAndThePipelineAgreeOnRandomCalls(_ profile: BackendProfile.BuiltIn, _ isLossy: Bool) async throws {
        let rounds = TestRun.count(full: 17, otherwise: 6)
        var ends = Set<String>()
        // A round has 100 calls, so that the doubles' recorded events stay few.
        for round in 0..<rounds {
            let seed = UInt64(round) * 8 + (isLossy ? 4 : 0) + UInt64(profile.rawValue.count % 4)
            var calls = RandomCalls(seed: seed)
            let asked = World(profile, isLossy: isLossy, seed: seed)
            let unasked = World(profile, isLossy: isLossy, seed: seed)
            for _ in 0..<100 {
                if let seconds = calls.pause() {
                    asked.clock.advance(by: .seconds(seconds))
                    unasked.clock.advance(by: .seconds(seconds))
                }
                let (user, request) = calls.next()
                let before = asked.timeline.events.count
                let explanation = await asked.explain(request, as: user)
                let looked = asked.timeline.words[before...]
                #expect(looked.allSatisfy { $0 == "claimed" || $0 == "released" }, "seed \(seed), \(request)")
                #expect(asked.ledger.openClaims == 0)
                let middle = asked.timeline.events.count
                let response = await asked.gateway.serve(request)
                // A dry run before the call changes no response.
                #expect(await unasked.gateway.serve(request) == response, "seed \(seed), \(request)")
                let after = Array(asked.timeline.events[middle...])
                #expect(
                    asked.agrees(explanation, response, after), "seed \(seed), \(request), \(explanation), \(response)")
                ends.insert(Self.word(explanation.outcome))
            }
        }
        // The random calls must have different results.
        #expect(ends.isSuperset(of: ["forwarded", "answered-here", "rate-limited", "not-owner", "tag-not-allowed"]))
        #expect(ends.isSuperset(of: ["send-not-allowed", "no-route", "malformed-request", "handle-unusable"]))
    }

    @Test("A rejection names the rule or limit that caused it")
    func aRejectionNamesTheRuleOrLimitThatCausedIt() async throws {
        let world = World(.classic, isLossy: false, seed: 1)
        let sent = Sample.send("\"hi\"", to: "dave", as: "eve")
        guard case .rejected(let rejection, 403) = await world.explain(sent, as: "eve").outcome else {
            Issue.record("the call is not rejected")
            return
        }
        #expect(rejection.code == .sendNotAllowed && rejection.detail == "no rule allows the send")
        for _ in 0..<3 { #expect(await world.gateway.serve(Sample.send()).status == 200) }
        let explanation = await world.explain(Sample.send(), as: "alice")
        guard case .rejected(let limited, 429) = explanation.outcome else {
            Issue.record("the call is not limited: \(explanation)")
            return
        }
        #expect(limited.code == .rateLimited && limited.detail == "limit pair")
        #expect(explanation.rule == "send[0]")
        let pair = try #require(explanation.limits.first { $0.limit == "pair" })
        #expect(pair.remaining == 0 && pair.burst == 3 && pair.seconds == 20)
        #expect(pair.user?.text == "alice" && pair.recipient?.text == "bob")
        #expect(explanation.limits.first { $0.limit == "sends" }?.remaining == 2)
    }

    @Test("A forwarded request is shown without the credential")
    func aForwardedRequestIsShownWithoutTheCredential() async throws {
        let secret = Secret("hush-hush".utf8)
        let credentials: [(UpstreamCredential, String)] = [
            (.mirror, "Authorization: (hidden)"), (.sharedPassword(secret), "Authorization: (hidden)"),
            (.header(userField: "X-User", secretField: "X-Secret", secret: secret), "X-Secret: (hidden)"),
        ]
        for (credential, shown) in credentials {
            let world = World(.classic, isLossy: false, seed: 1) { $0.upstreams[0].credential = credential }
            let explanation = await world.explain(Sample.send("\"say \"hi\"\""), as: "alice")
            guard case .forwarded(let requests, let skipped) = explanation.outcome, skipped.isEmpty else {
                Issue.record("the call is not forwarded: \(explanation)")
                return
            }
            let text = try #require(requests.first?.text)
            #expect(requests.count == 1)
            #expect(text.hasPrefix("POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\n"))
            #expect(text.hasSuffix(#""say \\\"hi\\\"""#))
            #expect(text.contains("\r\n\(shown)\r\n"))
            #expect(!text.contains("hush") && !text.contains("YWxpY2U"))
            #expect(!"\(explanation)".contains("hush"))
        }
    }

    @Test("A registration is shown with the requests that follow if the backend has lost it")
    func aRegistrationIsShownWithItsConditionalRequests() async throws {
        let world = World(.core, isLossy: false, seed: 1) { _ in }
        world.ledger.decide(.ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!))
        let explanation = await world.explain(Sample.put(Sample.body(tags: "[\"topic:b\",\"topic:a\"]")), as: "alice")
        guard case .forwarded(let requests, _) = explanation.outcome else {
            Issue.record("the call is not forwarded: \(explanation)")
            return
        }
        #expect(explanation.action == .ownershipTransfer && explanation.registration == Sample.other)
        #expect(requests.map(\.condition) == [.always, .ifGone, .ifGone])
        #expect(
            requests.map { $0.text.split(separator: " HTTP").first } == [
                "PUT /api/register?id=11-22-3", "POST /api/register?handle=\(Sample.apns)", "PUT /api/register?id={id}",
            ])
        #expect(requests.last?.text.hasSuffix(#""Tags":["topic:a","topic:b"]}"#) == true)
    }

    private static func word(_ end: Explanation.Outcome) -> String {
        switch end {
        case .rejected(let rejection, _): rejection.code.rawValue
        case .servedLocally: "answered-here"
        case .forwarded: "forwarded"
        }
    }
}

/// A gateway and its dry run, with low limits and a ledger with random decisions.
private struct World {
    let clock = ManualClock()
    let timeline = Timeline()
    let ledger: ScriptedLedger
    let backend: ScriptedBackend
    let gateway: Gateway
    let dryRun: DryRun
    let isLossy: Bool

    init(
        _ profile: BackendProfile.BuiltIn, isLossy: Bool, seed: UInt64,
        adjust: (inout CompiledConfiguration) -> Void = { _ in }
    ) {
        self.isLossy = isLossy
        ledger = ScriptedLedger(timeline: timeline) { Self.decision(on: $0, seed: seed) }
        backend = ScriptedBackend(timeline: timeline) { request in
            isLossy && request.method != "POST" ? .status(500) : await ScriptedBackend.alwaysSucceeds(request)
        }
        var rules = TestGateway.rules(profile, clock: clock)
        rules.policy.send = [
            .init(from: .user(Self.user("alice")), to: .anyUser), .init(from: .anyUser, to: .user(Self.user("bob"))),
            .init(from: .anyUser, to: .sender),
            .init(from: .group(GroupName("dispatch")!), to: .audience(AudienceName("oncall")!)),
        ]
        rules.policy.audiences = [AudienceName("oncall")!: ["alice", "bob", "carol"].map(Self.user)]
        rules.policy.tagsNotAllowed = seed % 2 == 0 ? .refuse : .drop
        rules.policy.isEnforced = seed % 5 != 4
        rules.policy.ownershipTransfer = seed % 3 == 2 ? .refuse : .allow
        rules.limiter = Limiter(
            [
                Limit(name: "sends", per: [.sender], count: 5, period: .seconds(60)),
                Limit(name: "pair", per: [.sender, .recipient], count: 3, period: .seconds(60)),
                Limit(name: "inbox", per: [.recipient, .pns], count: 4, period: .seconds(60)),
                Limit(name: "calls", per: [.user], count: 30, period: .seconds(60)),
            ], clocks: clock.clocks)
        adjust(&rules)
        let dependencies = TestGateway.dependencies(
            clock: clock, ledger: ledger, journal: MemoryJournal(timeline: timeline), backend: backend)
        gateway = Gateway(rules: rules, dependencies: dependencies)
        dryRun = DryRun(
            rules: rules, ledger: ledger, sessions: dependencies.sessions, clocks: dependencies.clocks,
            digester: dependencies.digester,
            randomness: dependencies.randomness)
    }

    func explain(_ request: ReceivedRequest, as user: String) async -> Explanation {
        await dryRun.explain(
            request,
            as: Identity(
                user: Self.user(user), groups: user == "alice" ? [GroupName("dispatch")!] : [],
                authenticator: FixedAuthenticator.name),
            login: LoginName(user))
    }

    /// Returns whether the pipeline's response and events match the explanation.
    func agrees(_ explanation: Explanation, _ response: Response, _ events: [Timeline.Event]) -> Bool {
        let seen = events.compactMap { event -> String? in
            guard case .exchanged(let request) = event else { return nil }
            let text = ExplainedRequest.hiding("Authorization", in: String(decoding: request.bytes, as: UTF8.self))
            return text.replacing(/traceparent: 00-[0-9a-f]{32}-[0-9a-f]{16}-00/, with: "traceparent: {traceparent}")
        }
        var rules = Set<String?>()
        for event in events {
            switch event {
            case .recorded(let records): rules.formUnion(records.map(\.facts?.rule))
            case .noted(let record) where record.kind == .rejection: rules.insert(record.facts?.rule)
            default: break
            }
        }
        guard rules.isSubset(of: [explanation.rule]) else { return false }
        switch explanation.outcome {
        case .rejected(let rejection, let status):
            return response.code == rejection.code && response.status == status && seen.isEmpty
        case .servedLocally:
            return seen.isEmpty && response.status < 300
        case .forwarded(let requests, let skipped):
            let expected = requests.filter { $0.condition == .always || (isLossy && $0.condition == .ifGone) }.map {
                $0.text.replacing("{id}", with: ScriptedBackend.givenID.text)
            }
            let refused = events.count {
                if case .recorded(let records) = $0 { records.contains { $0.kind == .rejection } } else { false }
            }
            return seen.sorted() == expected.sorted() && (skipped.isEmpty == (refused == 0))
        }
    }

    /// A random decision that depends only on the request and the seed.
    private static func decision(on request: LedgerRequest, seed: UInt64) -> LedgerDecision {
        var hash = seed
        for byte in "\(request)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        let roll = (hash >> 20) % 8
        switch request {
        case .create(_, let handle): return handle == nil || roll == 0 ? .queryWithoutHandle : .queryWithHandle
        case .update:
            switch roll {
            case 0, 1: return .own(Sample.other)
            case 2: return .ownershipTransfer(Sample.fresh, from: user("carol"))
            case 3: return .rotation(Sample.fresh)
            case 4: return .tooManyOwnershipTransfers
            default: return .notRegistered
            }
        case .delete: return roll < 4 ? .owned(Sample.other) : .notOwned
        case .sweep: return .notMarked
        }
    }

    private static func user(_ name: String) -> UserName { UserName(canonical: name)! }
}
