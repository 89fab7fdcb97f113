import Gateway
import GatewayConfiguration
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import GatewayOperations
@testable import GatewayStore

/// Two gateways that use one store in PostgreSQL, each with its own users file.
@Suite("Accounts of gateways that share a store", .enabled(if: PostgreSQLServer.isInstalled))
struct SharedAccountTests {
    private typealias Bench = AccountFixture

    private struct Gateway {
        let nodes: StoreNodes
        let file: ScriptedAccountList
        let monitor: AccountMonitor
    }

    private let files: TestFiles
    private let clock = ManualClock()
    private let journal = MemoryJournal()
    private let ledger: StoredLedger
    private let revocation: UserRevocation
    private let first: Gateway
    private let second: Gateway

    init() async throws {
        files = try TestFiles()
        let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
        let store = try PostgreSQLStore(
            PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 1),
            file: files.path + "/ledger.sqlite", use: .shared(patience: .zero), clocks: .system)
        ledger = StoredLedger(store)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        revocation = UserRevocation(
            sessions: try SessionRegister(ledger, clocks: clock.clocks),
            passwordCache: PasswordCache(clocks: clock.clocks), throttle: LoginThrottle(clocks: clock.clocks),
            sends: IdempotencyStore(clocks: clock.clocks), keyedSends: nil, texts: nil, journal: journal,
            sweeper: RegistrationSweeper(ledger: ledger, logger: logger), logger: logger)
        let node = StoreNode(instance: "second", host: "beta", program: "1.0", clocks: .system)
        first = Self.gateway(StoreNodes(store, ledger: ledger), revocation, clock)
        second = Self.gateway(StoreNodes(ledger, node: node, digester: store.digester), revocation, clock)
        try execute(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
            VALUES ('second', 'beta', '1.0', 0, \(StoreNode.now), \(StoreNode.now) + 600000000, FALSE, 0)
            """)
        for gateway in [first, second] {
            gateway.file.list([Bench.alice: "a", Bench.bob: "b"])
            await gateway.monitor.compare()
        }
    }

    private static func gateway(_ nodes: StoreNodes, _ revocation: UserRevocation, _ clock: ManualClock) -> Gateway {
        let file = ScriptedAccountList()
        return Gateway(
            nodes: nodes, file: file,
            monitor: AccountMonitor(
                [ScopedAccountList(name: "list", list: file)], revocation: revocation, agreement: nodes,
                clocks: clock.clocks, logger: revocation.logger))
    }

    private func execute(_ sql: String) throws {
        try ledger.database.write { try $0.execute(sql: sql) }
    }

    private func login(_ user: UserName) async throws -> SessionID {
        let (now, sessions) = (clock.clocks.wall(), revocation.sessions)
        let session = Session(
            id: SessionID(random: (.random(in: 0 ... .max), 0)), user: user, login: LoginName(user.text),
            authenticator: "list", device: nil, began: now, ends: WallTime(seconds: now.seconds + 86_400),
            renewed: now)
        #expect(try await sessions.start(session, since: sessions.epoch))
        return session.id
    }

    private func change(_ gateway: Gateway, to users: [UserName: String]) async {
        gateway.file.list(users)
        await gateway.monitor.listsHaveChanged()
        await gateway.monitor.compare()
    }

    private func compareAgain() async {
        for _ in 0..<3 {
            clock.advance(by: .seconds(3))
            for gateway in [first, second] { await gateway.monitor.compare() }
        }
    }

    private var accounts: Set<UserName> {
        get async throws { Set(try await revocation.sessions.accounts(of: "list").keys) }
    }

    @Test("Users files that differ between nodes revoke nobody; the change is applied once when all nodes have it")
    func differingFiles() async throws {
        let (alice, bob) = (try await login(Bench.alice), try await login(Bench.bob))
        await change(first, to: [Bench.alice: "new"])
        await compareAgain()
        // The second gateway reads its old file again, as after a change of its time.
        await change(second, to: [Bench.alice: "a", Bench.bob: "b"])
        await compareAgain()
        #expect(revocation.sessions.session(alice) != nil && revocation.sessions.session(bob) != nil)
        #expect(journal.records.isEmpty)
        #expect(try await accounts == [Bench.alice, Bench.bob])

        await change(second, to: [Bench.alice: "new"])
        await compareAgain()
        #expect(revocation.sessions.session(alice) == nil && revocation.sessions.session(bob) == nil)
        #expect(journal.records.map(\.result) == ["password-changed", "account-ended"])
        let session = try await login(Bench.alice)
        await compareAgain()
        #expect(revocation.sessions.session(session) != nil && journal.records.count == 2)
        try ledger.close()
    }

    @Test("A gateway that stops counts no more, and neither does one whose start is not complete")
    func stopped() async throws {
        await change(first, to: [Bench.alice: "a"])
        #expect(try await accounts.count == 2)
        try execute("UPDATE node SET until = 0 WHERE instance = 'second'")
        await compareAgain()
        #expect(try await accounts == [Bench.alice])
        try ledger.close()
    }

    @Test("An operator's word applies the lists of one gateway, and the others do not undo it")
    func word() async throws {
        let bob = try await login(Bench.bob)
        await change(first, to: [Bench.alice: "a"])
        #expect(try await first.nodes.applyOwn() == AccountWord(isNeeded: true, hosts: ["beta"]))
        await first.monitor.retry()
        await first.monitor.compare()
        #expect(revocation.sessions.session(bob) == nil)
        #expect(try await accounts == [Bench.alice])
        // The second gateway starts again with its old file, also after the first one has stopped.
        await second.monitor.watch([ScopedAccountList(name: "list", list: second.file)])
        await second.monitor.compare()
        try execute("UPDATE node SET accounts = NULL WHERE instance <> 'second'")
        clock.advance(by: .seconds(3))
        await second.monitor.compare()
        #expect(try await accounts == [Bench.alice])
        try ledger.close()
    }

    @Test("Passwords and groups follow a gateway's own file before the nodes agree")
    func memory() async throws {
        let group = try #require(GroupName("dispatch"))
        first.file.put([Bench.alice: [group]])
        await change(first, to: [Bench.alice: "new", Bench.bob: "b"])
        #expect(revocation.sessions.groups(of: Bench.alice) == [group])
        #expect(journal.records.isEmpty)
        try ledger.close()
    }

    @Test("Accounts of an authenticator that one gateway does not configure stay until all gateways agree")
    func removedAuthenticator() async throws {
        await first.monitor.watch([])
        await first.monitor.compare()
        #expect(try await accounts.count == 2)
        await second.monitor.watch([])
        await second.monitor.compare()
        #expect(try await accounts.isEmpty)
        try ledger.close()
    }
}
