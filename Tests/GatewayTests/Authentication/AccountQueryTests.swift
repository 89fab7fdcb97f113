import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Queries of the status of accounts")
struct AccountQueryTests {
    /// An authenticator with few places for queries of accounts, which the test holds until it releases them.
    private final class Narrow: AccountAuthenticator {
        struct State {
            var places = 6
            var fewestPlaces = 6
            var queries: [String] = []
            var isReleased = false
        }

        let state = AwaitableValue(State())
        private let passwords = FixedAuthenticator(
            passwords: Dictionary(uniqueKeysWithValues: TestGateway.users.map { ($0, TestGateway.password(of: $0)) }))

        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            await passwords.authenticate(credential, from: peer)
        }

        func status(of login: LoginName) async -> AccountStatus {
            let hasPlace = state.withLock { state in
                state.queries.append(login.text)
                guard state.places > 0 else { return false }
                state.places -= 1
                state.fewestPlaces = min(state.fewestPlaces, state.places)
                return true
            }
            guard hasPlace else { return .unknown(.busy) }
            await state.wait(until: \.isReleased)
            state.withLock { $0.places += 1 }
            return .valid(groups: [])
        }

        func release() { state.withLock { $0.isReleased = true } }
    }

    /// Returns a gateway whose passwords the authenticator verifies.
    private static func bench(_ narrow: Narrow) -> TokenFixture {
        TokenFixture(adjust: { rules in
            rules.authenticators = AuthenticatorChain(
                [.init(name: FixedAuthenticator.name, credentialKinds: [.password], authenticator: narrow)]
                    + rules.authenticators.links.filter { $0.name == TestIssuer.name })
        })
    }

    @Test("28 renewals of one user at once cost no renewal of another user")
    func renewals() async throws {
        let narrow = Narrow()
        let bench = Self.bench(narrow)
        _ = try await bench.login("alice")
        _ = try await bench.login("bob")
        let statuses = await withTaskGroup(of: Int.self) { tasks in
            for _ in 0..<28 { tasks.addTask { await bench.call("POST /auth/token", token: "token-1").status } }
            await narrow.state.wait { $0.queries.contains("alice") }
            tasks.addTask { await bench.call("POST /auth/token", token: "token-2").status }
            await narrow.state.wait { $0.queries.contains("bob") }
            narrow.release()
            return await tasks.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 29))
    }

    @Test("Queries of one account share their answer, and those of a user's other accounts wait for their turn")
    func shared() async throws {
        let narrow = Narrow()
        let chain = AuthenticatorChain([.init(name: "a", credentialKinds: [.password], authenticator: narrow)])
        let alice = try #require(UserName(canonical: "alice"))
        let status: @Sendable (String) async -> AccountStatus? = { login in
            await chain.status(of: Account(user: alice, login: LoginName(login), authenticator: "a"))
        }
        async let first = status("alice")
        await narrow.state.wait { $0.queries == ["alice"] }
        async let others = withTaskGroup(of: AccountStatus?.self) { tasks in
            for number in 0..<20 { tasks.addTask { await status(number < 10 ? "alice" : "example.alice") } }
            return await tasks.reduce(into: [AccountStatus?]()) { $0.append($1) }
        }
        narrow.release()
        #expect(await first == .valid(groups: []))
        #expect(await others == Array(repeating: .valid(groups: []), count: 20))
        // No two queries of the user were in progress at once.
        #expect(narrow.state.current.fewestPlaces == 5)
        let bob = Account(user: try #require(UserName(canonical: "bob")), login: LoginName("bob"), authenticator: "a")
        #expect(await chain.status(of: bob) == .valid(groups: []))
    }

    @Test("The recheck queries by itself, beside a request for the same account that waits")
    func purposes() async throws {
        let narrow = Narrow()
        let chain = AuthenticatorChain([.init(name: "a", credentialKinds: [.password], authenticator: narrow)])
        let account = Account(
            user: try #require(UserName(canonical: "alice")), login: LoginName("alice"), authenticator: "a")
        async let request = chain.status(of: account, for: .request)
        async let recheck = chain.status(of: account, for: .recheck)
        await narrow.state.wait { $0.queries == ["alice", "alice"] }
        narrow.release()
        #expect(await request == .valid(groups: []))
        #expect(await recheck == .valid(groups: []))
    }

    @Test("A renewal whose authenticator is busy may be repeated at once")
    func busy() async throws {
        let bench = TokenFixture()
        let narrow = Narrow()
        narrow.state.withLock { $0.places = 0 }
        let other = Self.bench(narrow)
        _ = try await bench.login("alice")
        _ = try await other.login("alice")
        #expect(await bench.call("POST /auth/token", token: "token-1").status == 200)
        let response = await other.call("POST /auth/token", token: "token-1")
        #expect(response.code == .overloaded && response.values("Retry-After") == ["1"])
    }
}
