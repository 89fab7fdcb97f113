import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

/// A provider whose tokens are words: `login` authenticates alice, and the logout tokens of the tests are its own.
private final class TestProvider: LogoutReceiver {
    static let login = ProviderLogin(issuer: "https://id.example.com", subject: "00u1", session: "s1")

    let receivesLogouts = true
    let outcomes: [String: LogoutOutcome]
    private let identity: Identity
    private let revocations: any RevocationList

    init(_ outcomes: [String: LogoutOutcome], now: WallTime, revocations: any RevocationList) {
        self.outcomes = outcomes
        self.revocations = revocations
        identity = Identity(
            user: UserName(canonical: "alice")!, authenticator: "provider",
            token: TokenReference(
                id: "login", session: nil, issued: now, expires: WallTime(seconds: now.seconds + 3600),
                provider: Self.login))
    }

    func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .bearer(let token) = credential, token.isEqual(to: Secret("login".utf8)),
            let reference = identity.token
        else { return .notMine }
        return revocations.isRevoked(reference, of: identity.user) ? .rejected(.revoked) : .accepted(identity)
    }

    func verifyLogout(_ token: Secret) async -> LogoutOutcome {
        outcomes[token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }] ?? .notMine
    }
}

@Suite("Logouts that identity providers announce")
struct ProviderLogoutTests {
    private static let form = "application/x-www-form-urlencoded"

    /// Returns a gateway with a provider that knows the logout tokens `bob`, `session`, `subject`, `bad` and `later`.
    private static func fixture() -> TokenFixture {
        let now = ManualClock().clocks.wall()
        func logout(_ targets: Set<ProviderLogout.Target>) -> LogoutOutcome {
            .accepted(ProviderLogout(issuer: TestProvider.login.issuer, targets: targets, issued: now))
        }
        let box = RevocationsOfFixture()
        let provider = TestProvider(
            [
                "bob": logout([.subject("bob")]), "session": logout([.session("s1"), .subjectWithoutSession("00u1")]),
                "subject": logout([.subject("00u1")]), "bad": .rejected(.untrusted), "later": .unavailable(.failed),
            ], now: now, revocations: box)
        let issuer = TestIssuer(revocations: box)
        let fixture = TokenFixture(adjust: { rules in
            rules.authenticators = AuthenticatorChain([
                .init(name: "provider", credentialKinds: [.bearer], authenticator: provider),
                .init(name: TestIssuer.name, credentialKinds: [.bearer], authenticator: issuer),
            ])
        })
        box.sessions.withLock { $0 = fixture.sessions }
        return fixture
    }

    /// The sessions of a fixture, which the authenticators need before there is one.
    private final class RevocationsOfFixture: RevocationList {
        let sessions = Mutex<MemorySessions?>(nil)

        func isRevoked(_ token: TokenReference, of user: UserName) -> Bool {
            sessions.withLock { $0 }?.isRevoked(token, of: user) ?? false
        }
    }

    private func logOut(_ bench: TokenFixture, _ body: String, type: String = form) async -> Response {
        await bench.gateway.serve(
            ReceivedRequest(
                "POST /auth/backchannel-logout", as: nil, authorization: nil, contentType: .text(type),
                body: Array(body.utf8)))
    }

    @Test(
        "A logout ends the session and refuses the provider's tokens, with a record", arguments: ["session", "subject"])
    func ends(_ token: String) async throws {
        let bench = Self.fixture()
        let started = await bench.call("POST /auth/token", token: "login")
        let own = try #require(started.json?["access_token"]?.string)
        #expect(await logOut(bench, "logout_token=bob").status == 200)
        #expect(await bench.call("GET /auth/whoami", token: own).status == 200)
        let response = await logOut(bench, "state=x&logout_token=\(token)")
        #expect(response.status == 200 && response.body.isEmpty)
        #expect(response.values("Cache-Control") == ["no-store"])
        for token in [own, "login"] {
            #expect(await bench.call("GET /auth/whoami", token: token).status == 401)
            #expect(await bench.call("POST /auth/token", token: token).status == 401)
        }
        #expect(bench.sessions.sessions(of: UserName(canonical: "alice")!).isEmpty)
        let records = bench.journal.records.filter { $0.facts?.action == .providerLogout }
        #expect(records.map(\.kind) == [.intent, .outcome, .intent, .outcome])
        #expect(records.map(\.count) == [nil, 0, nil, 1])
        #expect(records.last?.facts?.user?.text == "alice" && records.last?.facts?.session != nil)
    }

    @Test(
        "Anything else is a 400",
        arguments: [
            "", "logout_token=", "logout_token=bad", "logout_token=unknown", "logout_token=bob&logout_token=bob",
            "token=bob", "logout_token=b%6Fb", "logout_token=b+b", "LOGOUT_TOKEN=bob", "{\"logout_token\":\"bob\"}",
        ])
    func malformed(_ body: String) async throws {
        let response = await logOut(Self.fixture(), body)
        #expect(response.status == 400)
        #expect(response.values("Cache-Control") == ["no-store"])
    }

    @Test("A logout token is not read from JSON, nor from a plaintext connection, nor is another method served")
    func otherCalls() async throws {
        let bench = Self.fixture()
        #expect(await logOut(bench, "logout_token=bob", type: "application/json").status == 400)
        #expect(await bench.call("GET /auth/backchannel-logout", token: "login").status == 405)
        var request = ReceivedRequest(
            "POST /auth/backchannel-logout", as: nil, authorization: nil, contentType: .text(Self.form),
            body: Array("logout_token=bob".utf8))
        request.allowsCredentials = false
        #expect(await bench.gateway.serve(request).status == 403)
        // Without a provider there is no such path.
        #expect(await logOut(TokenFixture(), "logout_token=bob").status == 404)
    }

    @Test("A logout that cannot be verified or stored now is a 503")
    func unavailable() async throws {
        let bench = Self.fixture()
        #expect(await logOut(bench, "logout_token=later").status == 503)
        bench.sessions.fail(LedgerUnavailable("full disk"))
        #expect(await logOut(bench, "logout_token=bob").status == 503)
        #expect(bench.journal.records.last?.result == "ledger-unavailable")
        bench.sessions.fail(nil)
        #expect(await logOut(bench, "logout_token=bob").status == 200)
    }

    @Test("Invalid logout tokens exhaust the limit of their address")
    func limit() async throws {
        let bench = Self.fixture()
        var statuses: Set<Int> = []
        for _ in 0..<700 { statuses.insert(await logOut(bench, "logout_token=bad").status) }
        #expect(statuses == [400, 429])
    }
}
