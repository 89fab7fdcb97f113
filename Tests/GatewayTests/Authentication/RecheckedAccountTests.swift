import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The account of a registered device")
struct RecheckedAccountTests {
    private static let alice = UserName(canonical: "alice")!  // The text conforms to the grammar of user names.

    /// An authenticator that verifies passwords and reports the status of accounts.
    private struct Keeper: AccountAuthenticator {
        let passwords = FixedAuthenticator(passwords: ["alice": TestGateway.password(of: "alice")])

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            await passwords.authenticate(credential, from: peer)
        }

        func status(of login: LoginName) async -> AccountStatus { .valid(groups: []) }
    }

    /// An authenticator that lists its accounts.
    private struct Lister: AccountList {
        let keeper = Keeper()

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            await keeper.authenticate(credential, from: peer)
        }

        func status(of login: LoginName) async -> AccountStatus { await keeper.status(of: login) }
        var files: [String] { [] }
        func reload() async -> [ConfigurationProblem] { [] }
        func accounts(at now: WallTime) -> AccountSnapshot { AccountSnapshot(fingerprints: [:]) }
    }

    private static func gateway(_ keeper: some Authenticator, _ issuer: TestIssuer) -> TestGateway {
        TestGateway(adjust: { rules in
            rules.authenticators = AuthenticatorChain([
                .init(name: FixedAuthenticator.name, credentialKinds: [.password], authenticator: keeper),
                .init(name: TestIssuer.name, credentialKinds: [.bearer], authenticator: issuer),
            ])
        })
    }

    /// Registers with a password, with a session's token and with a token without session. Returns the accounts that
    /// the ledger received.
    private static func accounts(by keeper: some Authenticator) async throws -> [Account?] {
        let known = MemorySessions(clock: ManualClock())
        let issuer = TestIssuer(revocations: known)
        let gateway = gateway(keeper, issuer)
        let now = gateway.clock.clocks.wall()
        let end = WallTime(seconds: now.seconds + 3600)
        let session = Session(
            id: SessionID(random: (1, 2)), user: alice, login: LoginName("ALICE"),
            authenticator: FixedAuthenticator.name,
            device: nil, began: now, ends: end, renewed: now)
        for sessions in [gateway.sessions, known] {
            #expect(try await sessions.start(session, since: sessions.epoch))
        }
        for (token, session) in [("of-a-session", session.id), ("of-none", nil)] {
            issuer.add(
                token,
                Identity(
                    user: alice, authenticator: TestIssuer.name,
                    token: TokenReference(id: token, session: session, issued: now, expires: end)))
        }
        for token in [nil, "of-a-session", "of-none"] {
            let request = ReceivedRequest(
                "PUT /api/register/\(Sample.label)", as: "alice",
                authorization: token.map { .text("Bearer \($0)") }, contentType: .text("application/json"),
                body: Array(Sample.body().utf8))
            #expect(await gateway.serve(request).status == 200)
        }
        return gateway.ledger.requests.map { request in
            if case .update(_, _, _, let account) = request { account } else { nil }
        }
    }

    @Test("An authenticator that only reports statuses has the account recorded in the ledger")
    func told() async throws {
        let accounts = try await Self.accounts(by: Keeper())
        #expect(
            accounts == [
                Account(user: Self.alice, login: LoginName("alice"), authenticator: FixedAuthenticator.name),
                Account(user: Self.alice, login: LoginName("ALICE"), authenticator: FixedAuthenticator.name), nil,
            ])
    }

    @Test("An authenticator that lists its accounts has no account recorded in the ledger")
    func kept() async throws {
        #expect(try await Self.accounts(by: Lister()) == [nil, nil, nil])
    }

    @Test("An authenticator without statuses has the account recorded, so that the registration expires")
    func withoutStatus() async throws {
        let plain = FixedAuthenticator(passwords: ["alice": TestGateway.password(of: "alice")])
        #expect(
            try await Self.accounts(by: plain) == [
                Account(user: Self.alice, login: LoginName("alice"), authenticator: FixedAuthenticator.name),
                Account(user: Self.alice, login: LoginName("ALICE"), authenticator: FixedAuthenticator.name), nil,
            ])
    }

    /// An authenticator that verifies one token and reports the status of accounts.
    private struct TokenKeeper: AccountAuthenticator {
        static let name: PluginName = "service"

        let user: UserName

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            guard case .bearer(let token) = credential, token.isEqual(to: Secret("good".utf8)) else { return .notMine }
            return .accepted(Identity(user: user, authenticator: Self.name))
        }

        func status(of login: LoginName) async -> AccountStatus { .valid(groups: []) }
    }

    /// The service knows the account `zoë`. It would say of `zo_xc3_xab` that there is no such account, or it has one of
    /// somebody else.
    @Test(
        "A device that registers with a token of a service has its account recorded, so that it is rechecked",
        arguments: [("alice", "alice"), ("zo_xc3_xab", "zo\u{EB}")])
    func tokenOfAService(_ user: String, _ login: String) async throws {
        let user = UserName.test(user)
        let gateway = TestGateway(adjust: { rules in
            rules.names = NameRules(escaping: .hex)
            rules.authenticators = AuthenticatorChain([
                .init(name: TokenKeeper.name, credentialKinds: [.bearer], authenticator: TokenKeeper(user: user))
            ])
        })
        let request = ReceivedRequest(
            "PUT /api/register/\(Sample.label)", as: "alice", authorization: .text("Bearer good"),
            contentType: .text("application/json"), body: Array(Sample.body().utf8))
        #expect(await gateway.serve(request).status == 200)
        let accounts = gateway.ledger.requests.map { request -> Account? in
            if case .update(_, _, _, let account) = request { account } else { nil }
        }
        #expect(
            accounts == [Account(user: user, login: LoginName(login), authenticator: TokenKeeper.name)])
    }
}
