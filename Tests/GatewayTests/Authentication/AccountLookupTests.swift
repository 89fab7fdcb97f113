import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Account lookup without a password")
struct AccountLookupTests {
    private static let alice = UserName(canonical: "alice")!  // The text conforms to the grammar of user names.
    private static let staff = GroupName("staff")!  // The text conforms to the grammar of group names.

    /// An authenticator that reports one status for every account.
    private struct Keeper: AccountAuthenticator {
        let status: AccountStatus

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
        func status(of login: LoginName) async -> AccountStatus { status }
    }

    /// An authenticator that cannot report an account's status.
    private struct LoginsOnly: Authenticator {
        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome { .notMine }
    }

    private static func look(
        _ authenticators: (PluginName, any Authenticator)..., scope: AuthenticatorScope = AuthenticatorScope()
    ) async -> AccountLookup {
        await AuthenticatorChain(
            authenticators.map { name, authenticator in
                .init(name: name, credentialKinds: [.password], scope: scope, authenticator: authenticator)
            }
        ).lookUpAccount(of: alice, login: LoginName("alice"))
    }

    @Test("An account that no authenticator has is unknown to each of them")
    func unknown() async {
        let none = Keeper(status: .ended(.wrong))
        let lookup = await Self.look(("one", none), ("two", none))
        #expect(lookup.owner == nil && lookup.unknownTo == ["one", "two"] && lookup.undecided.isEmpty)
    }

    @Test("An authenticator that cannot report the status leaves the lookup undecided")
    func undecided() async {
        let lookup = await Self.look(
            ("one", LoginsOnly()), ("two", Keeper(status: .unknown(.timedOut))),
            ("three", Keeper(status: .ended(.wrong))))
        #expect(lookup.owner == nil && lookup.unknownTo == ["three"])
        #expect(lookup.undecided.map(\.authenticator) == ["one", "two"])
        #expect(lookup.undecided.map(\.reason.word) == ["logins-only", "timed-out"])
    }

    @Test("The lookup stops at the first authenticator that has the account, even if the account is disabled")
    func owner() async {
        let none = Keeper(status: .ended(.wrong))
        let good = Keeper(status: .valid(groups: [Self.staff]))
        let found = await Self.look(("one", none), ("two", good), ("three", none))
        #expect(found.owner == "two" && found.groups == [Self.staff] && found.unknownTo == ["one"])
        let disabled = await Self.look(("one", Keeper(status: .ended(.disabled))), ("two", good))
        #expect(disabled.owner == "one" && disabled.groups == nil)
    }

    @Test("An authenticator is queried only within its scope, and an identity with other groups has no groups")
    func scope() async throws {
        let good = Keeper(status: .valid(groups: [Self.staff]))
        let bob = try #require(NamePattern("bob", names: NameRules()))
        let others = await Self.look(("one", good), scope: AuthenticatorScope(users: [bob]))
        #expect(others == AccountLookup())
        let beyond = await Self.look(("one", good), scope: AuthenticatorScope(groups: []))
        #expect(beyond.owner == "one" && beyond.groups == nil)
    }

    @Test("The first authenticator that has an account decides its status, even if a later one has the name too")
    func statusOfOwner() async {
        let account = Account(user: Self.alice, login: LoginName("alice"), authenticator: "list")
        func status(_ first: AccountStatus, scope: AuthenticatorScope = AuthenticatorScope()) async -> AccountStatus? {
            await AuthenticatorChain([
                .init(name: "list", credentialKinds: [.password], scope: scope, authenticator: Keeper(status: first)),
                .init(
                    name: "list", credentialKinds: [.password],
                    authenticator: Keeper(status: .valid(groups: [Self.staff]))),
            ]).status(of: account)
        }
        for reason in InvalidCredentialReason.allCases where reason != .wrong {
            #expect(await status(.ended(reason)) == .ended(reason))
        }
        #expect(await status(.unknown(.timedOut)) == .unknown(.timedOut))
        // An account outside the scope is rejected at a login too.
        #expect(await status(.valid(groups: [Self.staff]), scope: AuthenticatorScope(groups: [])) == .ended(.untrusted))
        // An authenticator without the account leaves the decision to the next one.
        #expect(await status(.ended(.wrong)) == .valid(groups: [Self.staff]))
    }
}
