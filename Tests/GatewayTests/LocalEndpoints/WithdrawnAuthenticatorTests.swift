import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Logins whose authenticator a reload removes")
struct WithdrawnAuthenticatorTests {
    private static let name: PluginName = "late"
    private static let alice = UserName(canonical: "alice")!  // A valid name.

    private static func bench(_ late: LateAuthenticator) -> TokenFixture {
        TokenFixture(
            deciding: { _ in .own(Sample.other) },
            adjust: { rules in
                rules.authenticators = AuthenticatorChain(
                    [.init(name: name, credentialKinds: [.password], authenticator: late)]
                        + rules.authenticators.links.filter { $0.name == TestIssuer.name })
            })
    }

    @Test("A login in progress starts no session and binds no device", arguments: [true, false], [true, false])
    func inProgress(_ isWithdrawn: Bool, _ bindsDevice: Bool) async throws {
        let late = LateAuthenticator()
        let bench = Self.bench(late)
        async let response =
            bindsDevice ? bench.gateway.serve(Sample.put()) : bench.call("POST /auth/token", as: "alice")
        await late.untilWaiting(1)
        bench.sessions.withdraw([isWithdrawn ? Self.name : "other"])
        late.respond(.accepted(Identity(user: Self.alice, authenticator: Self.name)))
        #expect(await response.status == (isWithdrawn ? 503 : 200))
        #expect(bench.sessions.sessions(of: Self.alice).count == (isWithdrawn || bindsDevice ? 0 : 1))
        #expect(bench.ledger.changes.isEmpty == (isWithdrawn || !bindsDevice))
        // A login that begins afterwards is one of the present configuration.
        #expect(await bench.call("POST /auth/token", as: "alice").status == 200)
    }

    @Test("A device that the backend registers while the authenticator is removed is marked for deletion")
    func atTheBackend() async throws {
        let sessions = Mutex<MemorySessions?>(nil)
        let bench = TokenFixture(
            deciding: { _ in .own(Sample.other) },
            answering: { request in
                sessions.withLock { $0 }?.withdraw([FixedAuthenticator.name])
                return await ScriptedBackend.alwaysSucceeds(request)
            })
        sessions.withLock { $0 = bench.sessions }
        #expect(await bench.gateway.serve(Sample.put()).status != 200)
        #expect(try await bench.ledger.pendingDeletion(limit: 10) == [Sample.other])
    }

    @Test("The session is refused at the moment when it would begin")
    func atTheCommit() async throws {
        let sessions = MemorySessions(clock: ManualClock())
        let now = WallTime.test
        let epoch = sessions.epoch
        func start(_ authenticator: PluginName, _ number: UInt64, since: RevocationEpoch) async throws -> Bool {
            try await sessions.start(
                Session(
                    id: SessionID(random: (1, number)), user: Self.alice, login: LoginName("alice"),
                    authenticator: authenticator, device: nil, began: now, ends: now.adding(1_000_000), renewed: now),
                since: since)
        }
        sessions.withdraw([Self.name])
        #expect(try await !start(Self.name, 1, since: epoch))
        #expect(try await start("other", 2, since: epoch))
        #expect(try await start(Self.name, 3, since: sessions.epoch))
    }
}
