import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayOperations
@testable import GatewayStore

@Suite("Operations on gateways that share a store")
struct NodeOperationsTests {
    private let journal = MemoryJournal()
    private let retried = Signal()
    private let massEnds = MassEnds()

    /// Gateways of which the others have other account lists.
    private struct Agreement: AccountAgreement {
        let hosts: [String]?
        var outage: LedgerUnavailable?

        func propose(_ lists: AccountListsDigest) async throws(LedgerUnavailable) -> AccountDecision { .wait }
        func complete() async throws(LedgerUnavailable) {}
        func isReached() async throws(LedgerUnavailable) -> Bool { false }
        func applyOwn() async throws(LedgerUnavailable) -> AccountWord? {
            if let outage { throw outage }
            return hosts.map { AccountWord(isNeeded: !$0.isEmpty, hosts: $0) }
        }
    }

    private func apply(_ agreement: Agreement?) async -> ControlResults {
        let retried = retried
        let operation = ApplyAccountsOperation(agreement: agreement, massEnds: massEnds) { retried.raise() }
        return await ControlOperations.test([operation], journal: journal)
            .results(of: ControlRequest("accounts apply"), by: .process(uid: 1234))
    }

    @Test("The lists of one gateway are applied at once, with a record")
    func apply() async throws {
        let results = await apply(Agreement(hosts: ["beta"]))
        #expect(results.error == nil)
        #expect(
            results.items == [
                .object([.init("ended", .number("0")), .init("overruled", .array([.string("beta")]))])
            ])
        await retried.wait()
        #expect(journal.records.map(\.facts?.action) == [.operatorApplyAccounts])
        #expect(journal.records.map(\.result) == ["accepted"])
    }

    @Test("Nothing is applied alone, before the lists are read, or without the store")
    func rejected() async throws {
        #expect(await apply(nil).error?.kind == .refused)
        #expect(journal.records.isEmpty)
        #expect(await apply(Agreement(hosts: nil)).error?.kind == .unavailable)
        #expect(await apply(Agreement(hosts: [], outage: LedgerUnavailable("away"))).error?.kind == .unavailable)
        #expect(journal.records.map(\.result) == ["accepted", "failed", "accepted", "failed"])
    }

    @Test("A gateway where nothing waits says so, and has recorded the command")
    func nothing() async throws {
        let error = try #require(await apply(Agreement(hosts: [])).error)
        #expect(error.kind == .refused)
        #expect(journal.records.map(\.result) == ["accepted", "failed"])
    }

    @Test("Accounts that wait end by the command also at a gateway alone")
    func confirmed() async throws {
        let users = Set((0..<11).map { UserName(canonical: "user\($0)")! })  // Valid names.
        #expect(massEnds.admit(users, besides: [], of: 11, from: .recheck("list")).isEmpty)
        func listed() async -> [String?] {
            await ControlOperations.test([ListWaitingAccountsOperation(massEnds: massEnds)])
                .results(of: ControlRequest("accounts list"), by: .process(uid: 1234))
                .items.map { $0["user"]?.string }
        }
        #expect(await listed() == users.map(\.text).sorted())
        let results = await apply(nil)
        #expect(await listed().isEmpty)
        #expect(results.items == [.object([.init("ended", .number("11")), .init("overruled", .array([]))])])
        #expect(massEnds.admit(users, besides: [], of: 11, from: .recheck("list")) == users)
        #expect(await apply(nil).error?.kind == .refused)
    }

    @Test("A gateway with a ledger in a file lists no gateways")
    func alone() async throws {
        let results = await ControlOperations.test([ListNodesOperation(nodes: nil)])
            .results(of: ControlRequest("nodes list"), by: .process(uid: 1234), page: ControlPage(limit: 1))
        #expect(results.error == nil && results.items.isEmpty && results.next == nil)
    }

    @Test("The list has the gateways of a store", .enabled(if: PostgreSQLServer.isInstalled))
    func list() async throws {
        let files = try TestFiles()
        let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
        let store = try PostgreSQLStore(
            PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 1),
            file: files.path + "/ledger.sqlite", use: .shared(patience: .zero), clocks: .system)
        let ledger = StoredLedger(store)
        try ledger.database.write { transaction in
            try transaction.execute(
                sql: """
                    INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
                    VALUES ('second', '', '1.0', 2, \(StoreNode.now), 0, FALSE, 0)
                    """)
        }
        let operations = ControlOperations.test([ListNodesOperation(nodes: StoreNodes(store, ledger: ledger))])
        let results = await operations.results(of: ControlRequest("nodes list"), by: .process(uid: 1234))
        #expect(results.items.count == 2)
        let gone = try #require(results.items.first)
        #expect(
            String(decoding: JSONWriter.bytes(of: gone), as: UTF8.self)
                == #"{"host":"","node":"second","version":"1.0","fence":2,"state":"gone","accounts":"unknown"}"#)
        #expect(results.items.last?["state"] == .string("this") && results.items.last?["seen"] == .number("0"))
        #expect(results.items.last?["lag"] == .number("0"))
        try ledger.close()
        let closed = await operations.results(of: ControlRequest("nodes list"), by: .process(uid: 1234))
        #expect(closed.error?.kind == .unavailable)
    }
}
