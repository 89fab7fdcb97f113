import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

@Suite("Gateways that share a store", .enabled(if: PostgreSQLServer.isInstalled))
struct StoreNodesTests {
    private let directory = TemporaryDirectory()
    private let ledger: StoredLedger
    private let own: StoreNodes
    /// The view of a second gateway, whose row the tests write.
    private let other: StoreNodes

    init() throws {
        let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
        let store = try PostgreSQLStore(
            PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 1),
            file: directory("ledger.sqlite"), use: .shared(patience: .zero), clocks: .system)
        ledger = StoredLedger(store)
        own = StoreNodes(store, ledger: ledger)
        let node = StoreNode(instance: "other", host: "beta", program: "1.0", clocks: .system)
        other = StoreNodes(ledger, node: node, digester: store.digester)
        try execute(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
            VALUES ('other', 'beta', '1.0', 0, \(StoreNode.now), \(StoreNode.now) + 600000000, FALSE, 0)
            """)
    }

    private func execute(_ sql: String) throws {
        try ledger.database.write { try $0.execute(sql: sql) }
    }

    private func lists(_ accounts: [String: String], of name: PluginName = "list") throws -> AccountListsDigest {
        let fingerprints = try accounts.map { user, hash in
            (try #require(UserName(canonical: user)), try #require(AccountFingerprint(ofHash: hash)))
        }
        return try #require(AccountListsDigest(of: [name: Dictionary(uniqueKeysWithValues: fingerprints)]))
    }

    @Test("A gateway whose restore was interrupted does not use the store")
    func interruptedRestore() throws {
        let (files, server) = (TemporaryDirectory(), try #require(PostgreSQLServer.shared()))
        try PrivateFiles.makeDirectory(files.path)
        _ = try RestoreMark.set(ofLedger: files("ledger.sqlite"), replacesJournal: false)
        let settings = PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 1)
        func open() throws {
            _ = try PostgreSQLStore(
                settings, file: files("ledger.sqlite"), use: .shared(patience: .zero), clocks: .system)
        }
        #expect { try open() } throws: { "\($0)".contains("a restore was interrupted") }
        try RestoreMark.remove(ofLedger: files("ledger.sqlite"))
        try open()
    }

    @Test("A digest of lists differs with each authenticator, user and password")
    func digests() throws {
        let all = [
            try lists([:]), try lists(["alice": "a"]), try lists(["alice": "b"]), try lists(["bob": "a"]),
            try lists(["alice": "a", "bob": "b"]), try lists(["alice": "b", "bob": "a"]),
            try lists(["alice": "a"], of: "other"), try #require(AccountListsDigest(of: [:])),
        ]
        #expect(Set(all).count == all.count)
        #expect(try lists(["bob": "b", "alice": "a"]) == all[4])
    }

    @Test("Lists apply when all live gateways that have published lists have the same")
    func agreement() async throws {
        let (old, new) = (try lists(["alice": "a"]), try lists(["alice": "b"]))
        #expect(try await !own.isReached())
        // The other gateway has not published any.
        #expect(try await own.propose(old) == .apply)
        try await own.complete()
        #expect(try await other.propose(old) == .apply)
        #expect(try await own.propose(old) == .wait)
        try await other.complete()
        #expect(try await own.propose(new) == .differ(hosts: ["beta"]))
        for gateway in [own, other] { #expect(try await !gateway.isReached()) }
        #expect(try await other.propose(new) == .apply)
        try await other.complete()
        #expect(try await own.isReached())
        #expect(try await own.propose(old) == .differ(hosts: ["beta"]))
        try execute("UPDATE node SET until = 0 WHERE instance = 'other'")
        #expect(try await own.propose(old) == .apply)
        try ledger.close()
    }

    @Test("Lists that an operator applied are not undone by those that lost, until all agree on new ones")
    func word() async throws {
        let (old, new) = (try lists(["alice": "a"]), try lists(["alice": "b"]))
        #expect(try await own.applyOwn() == nil)
        #expect(try await other.propose(old) == .apply)
        try await other.complete()
        #expect(try await own.propose(new) == .differ(hosts: ["beta"]))
        #expect(try await own.applyOwn() == AccountWord(isNeeded: true, hosts: ["beta"]))
        #expect(try await own.propose(new) == .apply)
        try await own.complete()
        guard case .differ = try await other.propose(old) else {
            Issue.record("lists that lost were applied")
            return
        }
        // The other gateway is left alone with its lists.
        try execute("UPDATE node SET accounts = NULL WHERE instance <> 'other'")
        #expect(try await other.propose(old) == .overruled)
        #expect(try await !other.isReached())
        // Lists that the word does not name need an agreement as before, and end the word.
        let next = try lists(["alice": "c"])
        #expect(try await own.propose(next) == .differ(hosts: ["beta"]))
        #expect(try await other.propose(next) == .apply)
        try await other.complete()
        try execute("UPDATE node SET until = 0 WHERE instance = 'other'")
        #expect(try await own.propose(old) == .apply)
        try ledger.close()
    }

    @Test("One gateway at a time has a task, and another one takes it over when that one does not run any more")
    func leases() async throws {
        #expect(try await other.acquire(.accountRecheck))
        #expect(try await !own.acquire(.accountRecheck))
        #expect(try await own.acquire(.importExpiry))
        #expect(try await other.acquire(.accountRecheck))
        // The gateway has started again, and its former run cannot keep the task.
        try execute("UPDATE node SET fence = 1 WHERE instance = 'other'")
        #expect(try await own.acquire(.accountRecheck))
        #expect(try await !other.acquire(.importExpiry))
        #expect(try await own.acquire(.accountRecheck))
        try ledger.close()
    }

    @Test("The list has the gateways of the last week, with their state, lag and account lists")
    func list() async throws {
        _ = try await own.propose(try lists(["alice": "a"]))
        try execute("INSERT INTO change (node, kind) VALUES ('x', 'test')")
        let week = 7 * 86_400_000_000
        try execute(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied) VALUES
                ('dead', 'gamma', '0.9', 3, 1, \(StoreNode.now) - 45000000, FALSE, 0),
                ('past', 'gamma', '0.9', 3, 1, \(StoreNode.now) - \(week), FALSE, 0),
                ('stopped', 'delta', '0.9', 3, \(StoreNode.now) - 60000000, 0, FALSE, 0)
            """)
        let nodes = try await own.list()
        #expect(Set(nodes.map(\.instance)) == ["other", "dead", "stopped", own.node.instance])
        let byName = Dictionary(uniqueKeysWithValues: nodes.map { ($0.instance, $0) })
        let this = try #require(byName[own.node.instance])
        #expect(this.state == .this && this.accounts == .agree && this.lag == 1 && this.fence == own.node.fenceNumber)
        let (second, dead, stopped) = (byName["other"], byName["dead"], byName["stopped"])
        #expect(second?.state == .live && second?.accounts == .unknown && second?.host == "beta")
        #expect(second?.secondsUnseen == 0 && second?.lag == 1 && second?.version == "1.0")
        #expect(dead?.state == .gone && dead?.lag == nil && (60...120).contains(dead?.secondsUnseen ?? 0))
        #expect(stopped?.state == .gone && stopped?.secondsUnseen == nil)
        _ = try await other.propose(try lists(["alice": "b"]))
        #expect(try await own.list().first { $0.instance == "other" }?.accounts == .differ)
        try ledger.close()
    }
}
