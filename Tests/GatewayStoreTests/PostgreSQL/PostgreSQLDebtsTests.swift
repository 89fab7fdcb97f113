import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

@Suite("Shared debts in PostgreSQL", .enabled(if: PostgreSQLServer.isInstalled))
struct PostgreSQLDebtsTests {
    private struct Fixture {
        let directory = TemporaryDirectory()
        let settings: PostgreSQLSettings
        let store: PostgreSQLStore
        let debts: PostgreSQLDebts

        init() throws {
            settings = try #require(PostgreSQLServer.shared()).freshDatabase()
            store = try PostgreSQLStore(
                PostgreSQLStore.Settings(connection: settings, readers: 1), file: directory("ledger.sqlite"),
                use: .exclusive(), clocks: .system)
            debts = PostgreSQLDebts(store)
        }

        func close() throws {
            debts.close()
            try store.close(isUsable: true)
        }

        func run(_ sql: String) throws -> Int {
            let connection = try PostgreSQLConnection.connect(settings, within: .seconds(30))
            defer { connection.close() }
            return try connection.execute(sql)
        }
    }

    private static let hour: Int64 = 3_600_000_000_000
    private var hour: Int64 { Self.hour }

    private func key(_ caller: UInt64, limit: UInt64 = 1, address: UInt64 = 0) -> DebtKey {
        var key = DebtKey(limit: limit)
        key.caller = caller
        key.address = address
        return key
    }

    private func added(_ key: DebtKey, _ debt: Int64, maximum: Int64 = 10 * hour) -> AddedDebt {
        AddedDebt(key: key, added: debt, maximum: maximum)
    }

    /// Whether the number is a debt of so many hours, less a minute that the test may take.
    private func isHours(_ debt: Int64?, _ count: Int64) -> Bool {
        debt.map { (count * hour - hour / 60...count * hour).contains($0) } ?? false
    }

    @Test("Debts add up, are refunded, and are capped")
    func addition() async throws {
        let fixture = try Fixture()
        let keys = [key(1), key(1, address: 7), key(2)]
        #expect(keys.sorted() == keys)
        let first = try await fixture.debts.add(keys.map { added($0, 2 * hour) })
        #expect(first.map(\.key).sorted() == keys && first.allSatisfy { isHours($0.debt, 2) })
        #expect(isHours(try await fixture.debts.add([added(key(1), hour)]).first?.debt, 3))
        #expect(isHours(try await fixture.debts.add([added(key(1), -2 * hour)]).first?.debt, 1))
        #expect(isHours(try await fixture.debts.add([added(key(2), 100 * hour)]).first?.debt, 10))
        #expect(isHours(try await fixture.debts.add([added(key(2), hour, maximum: 4 * hour)]).first?.debt, 4))
        // More refunds than debt: the next debt counts in full.
        #expect(try await fixture.debts.add([added(key(1), -5 * hour)]).first.map { $0.debt < 0 } == true)
        #expect(isHours(try await fixture.debts.add([added(key(1), hour)]).first?.debt, 1))
        #expect(try await fixture.debts.add([]).isEmpty)
        try fixture.close()
    }

    @Test("Nodes that add debts of the same keys at once lose none")
    func concurrency() async throws {
        let fixture = try Fixture()
        let nodes = (0..<4).map { _ in PostgreSQLDebts(fixture.store) }
        let second: Int64 = 1_000_000_000
        try await withThrowingTaskGroup { tasks in
            for node in nodes {
                tasks.addTask {
                    for _ in 0..<20 {
                        let keys = (0..<100).map { self.key(UInt64.random(in: 0..<200) | UInt64($0) << 32) }
                        _ = try await node.add(Set(keys + [self.key(7)]).sorted().map { self.added($0, 60 * second) })
                    }
                }
            }
            try await tasks.waitForAll()
        }
        let total = try await fixture.debts.add([added(key(7), 0)])
        #expect(total.first.map { (70 * 60 * second...80 * 60 * second).contains($0.debt) } == true)
        for node in nodes { node.close() }
        try fixture.close()
    }

    @Test("Removals delete rows and are read by all nodes in their order")
    func removal() async throws {
        let fixture = try Fixture()
        let all = [key(1), key(1, address: 7), key(2), key(1, limit: 2)].sorted()
        _ = try await fixture.debts.add(all.map { added($0, hour) })
        let start = try await fixture.debts.updates(after: 0)
        #expect(start.changes.isEmpty && start.last == 0 && start.nodes == 1 && !start.isPartial)
        var pattern = DebtPattern(limits: [1, 5])
        pattern.caller = 1
        var login = DebtPattern()
        (login.caller, login.address) = (3, 4)
        try await fixture.debts.announce([DebtChange(.debtsRemoved, pattern), DebtChange(.knownLogin, login)])
        let updates = try await fixture.debts.updates(after: 0)
        #expect(updates.changes.map(\.kind) == [.debtsRemoved, .knownLogin])
        #expect(updates.changes.map(\.pattern) == [pattern, login])
        #expect(updates.changes.allSatisfy { $0.age < hour })
        #expect(try await fixture.debts.updates(after: updates.last).changes.isEmpty)
        #expect(try fixture.run("SELECT 1 FROM debt") == 2)
        // A login that is told again moves to the end.
        try await fixture.debts.announce([DebtChange(.knownLogin, login)])
        let again = try await fixture.debts.updates(after: updates.last)
        #expect(again.changes.map(\.pattern) == [login] && again.last > updates.last)
        #expect(try fixture.run("SELECT 1 FROM debt_change") == 2)
        var user = DebtPattern()
        user.caller = 3
        try await fixture.debts.announce([DebtChange(.knownLoginsRemoved, user)])
        let kinds = try await fixture.debts.updates(after: 0).changes.map(\.kind)
        #expect(kinds == [.debtsRemoved, .knownLoginsRemoved])
        try await fixture.debts.remove(DebtPattern())
        #expect(try fixture.run("SELECT 1 FROM debt") == 0)
        try fixture.close()
    }

    @Test("Expired rows and logins beyond the maximum are removed")
    func expiry() async throws {
        let fixture = try Fixture()
        _ = try await fixture.debts.add([added(key(1), hour), added(key(2), -hour)])
        for address in UInt64(0)..<300 {
            var login = DebtPattern()
            (login.caller, login.address) = (3, address)
            try await fixture.debts.announce([DebtChange(.knownLogin, login)])
        }
        try await fixture.debts.announce([DebtChange(.debtsRemoved, DebtPattern(limits: [9]))])
        try await fixture.debts.removeExpired()
        #expect(try fixture.run("SELECT 1 FROM debt") == 1)
        #expect(try fixture.run("SELECT 1 FROM debt_change") == 257)
        _ = try fixture.run("UPDATE debt_change SET at = at - \(2 * 86_400_000_000 as Int64)")
        try await fixture.debts.removeExpired()
        #expect(try fixture.run("SELECT 1 FROM debt_change WHERE kind = 'known-login'") == 256)
        #expect(try fixture.run("SELECT 1 FROM debt_change") == 256)
        _ = try fixture.run("UPDATE debt_change SET at = at - \(30 * 86_400_000_000 as Int64)")
        try await fixture.debts.removeExpired()
        #expect(try fixture.run("SELECT 1 FROM debt_change") == 0)
        try fixture.close()
    }

    @Test("All nodes read the same key of digests")
    func digestKey() throws {
        let fixture = try Fixture()
        let first = try PostgreSQLDebts.digestKey(in: fixture.store, length: 16)
        #expect(first.count == 16)
        #expect(try PostgreSQLDebts.digestKey(in: fixture.store, length: 16) == first)
        #expect(throws: LedgerUnavailable.self) { try PostgreSQLDebts.digestKey(in: fixture.store, length: 32) }
        try fixture.close()
    }
}
