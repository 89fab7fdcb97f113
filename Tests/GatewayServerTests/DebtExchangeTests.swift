import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import PostgreSQLClient
import Testing

@testable import Gateway
@testable import GatewayServer

@Suite("Exchange of limits between nodes", .enabled(if: PostgreSQLServer.isInstalled))
struct DebtExchangeTests {
    private struct Node {
        let limiter: Limiter
        let throttle: LoginThrottle
        let debts: PostgreSQLDebts
        let exchange: DebtExchange

        /// The limits are of hours, because the database's clock moves during a test.
        init(_ store: PostgreSQLStore, _ clock: ManualClock) throws {
            let sharing = DebtSharing(
                key: try PostgreSQLDebts.digestKey(in: store, length: DebtSharing.keyLength))
            let limit = Limit(name: "sends", per: [.sender], count: 1, period: .seconds(3600), burst: 6)
            limiter = Limiter([limit], clocks: clock.clocks, sharing: sharing)
            throttle = LoginThrottle(clocks: clock.clocks, sharing: sharing)
            debts = PostgreSQLDebts(store)
            exchange = DebtExchange(
                debts, sharing, [limiter, throttle], clocks: clock.clocks, logger: Logger(label: "test"))
        }

        func admitted(_ user: String, attempts: Int = 20) -> Int {
            let caller = Identity(user: UserName(canonical: user)!, groups: [], authenticator: "test")
            return (0..<attempts).count { _ in
                let send = RequestedSend(service: .apns, recipient: caller.user, text: "")
                return (try? limiter.admit(caller, at: .gateway, sending: send)) != nil
            }
        }
    }

    private struct Fixture {
        let files: TestFiles
        let clock = ManualClock()
        let schema: String
        let store: PostgreSQLStore
        let first: Node
        let second: Node

        init(_ server: PostgreSQLServer?) throws {
            files = try TestFiles()
            let settings = try #require(server).freshDatabase()
            schema = try #require(settings.schema)
            store = try PostgreSQLStore(
                PostgreSQLStore.Settings(connection: settings, readers: 1), file: files.path + "/ledger.sqlite",
                use: .shared(), clocks: clock.clocks)
            first = try Node(store, clock)
            second = try Node(store, clock)
        }

        func close() throws {
            for node in [first, second] { node.debts.close() }
            try StoredLedger(store).close()
        }
    }

    private let home = Peer(address: .v4(1), text: "192.0.2.1")
    private let alice = UserName(canonical: "alice")!

    @Test("Two nodes share debts, logins and removals")
    func sharing() async throws {
        let fixture = try Fixture(PostgreSQLServer.shared())
        let (first, second) = (fixture.first, fixture.second)
        #expect(first.admitted("alice") == 6)
        first.throttle.recordSuccess(of: alice, from: home)
        #expect(await first.exchange.exchange())
        // The node learns of the other's calls with its own first call, and of the login with the next exchange.
        #expect(second.admitted("alice", attempts: 1) == 1)
        #expect(await second.exchange.exchange())
        #expect(second.admitted("alice") == 0)
        #expect(try second.throttle.isKnownPairUnlessBlocked(alice, from: home))
        fixture.clock.advance(by: .seconds(3601))
        #expect(second.admitted("alice") == 0)
        // An operator resets the limit at the second node, while the first has debts that it has not shared.
        #expect(first.admitted("alice") == 1)
        var selector = LimitSelector()
        selector.user = alice
        #expect(second.limiter.reset(selector) == 1)
        second.throttle.removeKnownAddresses(of: alice)
        #expect(await second.exchange.exchange())
        #expect(await first.exchange.exchange())
        #expect(first.admitted("alice") == 6)
        #expect(try !first.throttle.isKnownPairUnlessBlocked(alice, from: home))
        #expect(try !second.throttle.isKnownPairUnlessBlocked(alice, from: home))
        try fixture.close()
    }

    @Test("A node that is cut off counts for all nodes, and shares its debts afterwards", .timeLimit(.minutes(1)))
    func outage() async throws {
        let server = try PostgreSQLServer()
        let fixture = try Fixture(server)
        let (first, second) = (fixture.first, fixture.second)
        try server.run(
            """
            INSERT INTO \(fixture.schema).node (instance, host, program, fence, started, until, is_exclusive, applied)
            VALUES ('other', 'other', '1', 1, 0, 9000000000000000000, FALSE, 0)
            """)
        #expect(await first.exchange.exchange())
        server.kill()
        #expect(await !first.exchange.exchange())
        #expect(first.admitted("alice") == 6)
        fixture.clock.advance(by: .seconds(4))
        #expect(first.exchange.age == .seconds(4))
        #expect(await !first.exchange.exchange())
        #expect(first.admitted("carol") == 3)
        try server.start()
        // After a failed attempt to connect, a session waits for a moment.
        fixture.clock.advance(by: .seconds(1))
        #expect(await first.exchange.exchange())
        #expect(first.exchange.age == .zero)
        #expect(second.admitted("alice", attempts: 1) == 1 && second.admitted("carol", attempts: 1) == 1)
        #expect(await second.exchange.exchange())
        #expect(second.admitted("alice") == 0 && second.admitted("carol") == 2)
        #expect(first.admitted("dave") == 6)
        try fixture.close()
    }
}
