import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// A hub serves FCM, and a classic backend all other push services.
@Suite("Calls to two upstreams")
struct UpstreamTests {
    private struct Fixture {
        let gateway: TestGateway
        let classic: ScriptedBackend
        var hub: ScriptedBackend { gateway.backend }

        static let hubName = UpstreamName("hub")
        static let classicName = UpstreamName("classic")

        init(
            deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.emptyLedgerDecision,
            classic: ScriptedBackend = ScriptedBackend()
        ) {
            self.classic = classic
            gateway = TestGateway(
                adjust: { Self.adjust(&$0) },
                answering: { request in
                    switch request.method {
                    case "GET": .status(200, #"<feed xmlns="http://www.w3.org/2005/Atom"></feed>"#)
                    default:
                        .responded(
                            BackendResponse(
                                status: 201,
                                location: "https://contoso.servicebus.windows.net/news/registrationids/"
                                    + "\(Sample.other)?api-version=2020-06"))
                    }
                }, deciding: decide, others: [classic])
        }

        static func adjust(_ rules: inout CompiledConfiguration) {
            rules.upstreams = [
                UpstreamRules(
                    name: hubName, services: [.fcm], backend: .hub, hub: HubSample.settings { _ in },
                    host: "contoso.servicebus.windows.net"),
                UpstreamRules(
                    name: classicName, services: [.apns, .wns, .mpns], backend: BackendProfile(.classic).backend,
                    host: "backend.test"),
            ]
        }

        /// The requests to the hub and to the backend, by method.
        func methods() -> [String] {
            hub.requests.map { "hub \($0.method)" } + classic.requests.map { "classic \($0.method)" }
        }
    }

    private static func send(_ pns: String, _ more: String = "", to target: String = "bob") -> ReceivedRequest {
        ReceivedRequest(
            "POST /api/notifications?pns=\(pns)&to_tag=\(target)\(more)", as: "alice", json: "\"hi\"")
    }

    @Test(
        "A send goes to the upstream of its platform alone",
        arguments: [("apns", "classic POST"), ("wns", "classic POST"), ("gcm", "hub POST"), ("fcmv1", "hub POST")])
    func sends(pns: String, request: String) async {
        let fixture = Fixture()
        #expect(await fixture.gateway.serve(Self.send(pns)).status == 200)
        #expect(fixture.methods() == [request])
    }

    @Test("An unknown platform is rejected as before, and so is one that no upstream serves")
    func unknown() async {
        await Fixture().gateway.expect(.unknownPlatform, for: Self.send("adm"))
        let partial = TestGateway(adjust: {
            Fixture.adjust(&$0)
            $0.upstreams[1].services = [.apns]
        })
        await partial.expect(.unknownPlatform, for: Self.send("wns"))
        await partial.expect(.unknownPlatform, for: Sample.put(Sample.body("wns", Sample.wns)))
    }

    @Test("A send to an audience goes to the upstream of its platform")
    func audience() async {
        let classic = ScriptedBackend()
        let members = ["bob", "carol"].map { UserName(canonical: $0)! }  // Valid names.
        let gateway = TestGateway(
            adjust: {
                Fixture.adjust(&$0)
                $0.policy.audiences = [AudienceName("all")!: members]  // A valid name.
                $0.policy.send.append(.init(from: .anyUser, to: .audience(AudienceName("all")!)))  // A valid name.
            }, others: [classic])
        #expect(await gateway.serve(Self.send("apns", to: "audience:all")).status == 200)
        #expect(classic.requests.count == 2 && gateway.backend.requests.isEmpty)
    }

    @Test("A delivery time is a parameter of the platforms whose upstream schedules sends")
    func scheduled() async {
        let fixture = Fixture()
        let at = "&at=\(WallTime(seconds: fixture.gateway.clock.clocks.wall().seconds + 60))"
        #expect(await fixture.gateway.serve(Self.send("gcm", at)).status == 200)
        #expect(fixture.methods() == ["hub POST"])
        await Fixture().gateway.expect(.malformedRequest, for: Self.send("apns", at))
    }

    @Test("A device registers at the upstream of its handle, and an id without a handle comes from the one of Windows")
    func registrations() async {
        let fixture = Fixture()
        let token = "bobs-android-token-0001"
        #expect(await fixture.gateway.serve(Sample.put(Sample.body("gcm", token))).status == 200)
        #expect(fixture.methods() == ["hub GET", "hub POST", "hub PUT"])
        let windows = Fixture()
        #expect(await windows.gateway.serve(ReceivedRequest("POST /api/register", as: "alice")).status == 200)
        let android = ReceivedRequest("POST /api/register?handle=\(token)", as: "alice")
        #expect(await windows.gateway.serve(android).status == 200)
        #expect(windows.methods() == ["hub GET", "hub POST", "classic POST"])
    }

    @Test("A registration that was made at the other upstream is looked up by its handle, not by its id")
    func moved() async {
        let fixture = Fixture(deciding: { _ in .own(Sample.label) })
        fixture.gateway.ledger.setPlace(RegistrationPlace(service: .fcm, upstream: Fixture.classicName))
        #expect(await fixture.gateway.serve(Sample.put(Sample.body("gcm", "bobs-android-token-0001"))).status == 200)
        #expect(fixture.methods() == ["hub GET", "hub POST", "hub PUT"])
        #expect(fixture.gateway.ledger.changes == [.registered(Sample.other, replacing: Sample.label)])
        // One that was made here, or of which that is not known, is updated under its id.
        for name in [Fixture.hubName, nil] {
            let here = Fixture(deciding: { _ in .own(Sample.label) })
            here.gateway.ledger.setPlace(RegistrationPlace(service: .fcm, upstream: name))
            #expect(await here.gateway.serve(Sample.put(Sample.body("gcm", "bobs-android-token-0001"))).status == 200)
            #expect(here.methods() == ["hub GET", "hub PUT"])
        }
    }

    @Test(
        "A deletion goes to the upstream that has the registration",
        arguments: [
            (RegistrationPlace(service: .fcm, upstream: Fixture.hubName), "hub DELETE"),
            (RegistrationPlace(service: .fcm, upstream: Fixture.classicName), "classic DELETE"),
            (RegistrationPlace(service: .apns, upstream: UpstreamName("removed")), "classic DELETE"),
            (RegistrationPlace(service: .fcm, upstream: nil), "hub DELETE"),
        ])
    func deletions(place: RegistrationPlace, request: String) async {
        let fixture = Fixture(deciding: { _ in .owned(Sample.other) })
        fixture.gateway.ledger.setPlace(place)
        let call = ReceivedRequest("DELETE /api/register/\(Sample.other)", as: "alice")
        #expect(await fixture.gateway.serve(call).status == 200)
        #expect(fixture.methods() == [request])
        // The sweeper finds the same upstream.
        let swept = Fixture(deciding: { _ in .pendingDeletion(Sample.other, owner: nil, because: .superseded) })
        swept.gateway.ledger.setPlace(place)
        #expect(await swept.gateway.gateway.sweep(Sample.other, as: CallID(process: 1, number: 1)))
        #expect(swept.methods() == [request])
    }

    @Test("An upstream that is full or unreachable leaves the other's calls unharmed")
    func outage() async {
        let fixture = Fixture(classic: ScriptedBackend { _ in .unreachable("refused") })
        #expect(await fixture.gateway.serve(Self.send("apns")).status == 502)
        #expect(await fixture.gateway.serve(Self.send("gcm")).status == 200)
        let full = TestGateway(adjust: { Fixture.adjust(&$0) }, others: [FullBackend()])
        #expect(await full.serve(Self.send("apns")).status == 503)
        #expect(await full.serve(Self.send("gcm")).status == 200)
    }

    private struct FullBackend: Backend {
        func exchange(_ request: borrowing RecordedRequest) async -> BackendResult { .overloaded }
        var isFull: Bool { true }
    }

    @Test("A dry run has the requests to the upstream of the platform")
    func dryRun() async throws {
        let clock = ManualClock()
        var rules = TestGateway.rules(clock: clock)
        Fixture.adjust(&rules)
        let dryRun = DryRun(
            rules: rules, ledger: ScriptedLedger(), sessions: MemorySessions(clock: clock), clocks: clock.clocks,
            digester: KeyedDigester(key: Secret(Array(repeating: 7, count: 32))))
        for (pns, line) in [("gcm", "POST /news/messages?"), ("apns", "POST /api/notifications?")] {
            let explanation = await dryRun.explain(
                Self.send(pns), as: Identity(user: UserName(canonical: "alice")!, authenticator: "test"),
                login: LoginName("alice"))
            guard case .forwarded(let requests, _) = explanation.outcome, let request = requests.first else {
                Issue.record("\(explanation.outcome)")
                continue
            }
            #expect("\(request)".contains(line), "\(request)")
        }
    }
}
