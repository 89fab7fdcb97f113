import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

@Suite(
    "The gateways that use a store in PostgreSQL", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct StoreNodeTests {
    private let shared: SharedStore

    init() throws { shared = try SharedStore() }

    @Test("Gateways use a store at the same time, and a process that uses it alone waits for none of them")
    func exclusive() throws {
        let one = try shared.open(shared.first)
        let other = try shared.open(shared.second)
        try other.close(isUsable: true)
        let held = #expect(throws: LedgerUnavailable.self) { try shared.open(shared.second, .exclusive) }
        #expect(held?.detail.contains("uses the store") == true)
        try one.close(isUsable: true)
        let alone = try shared.open(shared.second, .exclusive)
        #expect(throws: LedgerUnavailable.self) { try shared.open(shared.first) }
        try alone.close(isUsable: true)
        try shared.open(shared.first).close(isUsable: true)
    }

    @Test("A gateway that was gone when another process used the store alone changes nothing, and knows it")
    func fenced() async throws {
        let (clock, ledger) = (shared.clock, StoredLedger(try shared.open(shared.first)))
        try shared.expire()
        let other = StoredLedger(try shared.open(shared.second, .exclusive))
        await #expect(throws: LedgerUnavailable.self) { try await ledger.recordImport(now: clock.clocks.wall()) }
        #expect(!ledger.isCurrent && ledger.isLost)
        #expect(ledger.lossReason?.contains("another process") == true)
        #expect(try await other.migration() == .notImported)
        #expect(ledger.fault != nil)
        try ledger.close()
        #expect(!other.isLost)
        try await other.recordImport(now: clock.clocks.wall())
        try other.close()
    }

    @Test("A change does not conflict with signs of life, and keeps others from taking its gateway's place")
    func signsOfLife() throws {
        try shared.open(shared.first).close(isUsable: true)
        let node = StoreNode(instance: "one", host: "host", program: "", clocks: shared.clock.clocks)
        let (changes, others) = (try shared.connect(), try shared.connect())
        defer {
            changes.close()
            others.close()
        }
        let change = PostgreSQLTransaction(connection: changes, node: "one")
        let other = PostgreSQLTransaction(connection: others, node: "one")
        try change.script("BEGIN")
        _ = try node.acquire(change, isExclusive: false, known: 0)
        try change.script("COMMIT; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT FROM registration")
        try other.script("SET lock_timeout = 100")
        // After the state that the change sees.
        try node.showLife(other, applied: 1, timeline: "")
        try node.check(change)
        try node.showLife(other, applied: 2, timeline: "")
        let takesPlace = "UPDATE node SET fence = fence + 1"
        let error = #expect(throws: PostgreSQLError.self) { try other.script(takesPlace) }
        #expect(error?.sqlState == "55P03")
        try change.script("COMMIT; BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT FROM registration")
        try other.script(takesPlace)
        let late = #expect(throws: PostgreSQLError.self) { try node.check(change) }
        #expect(late?.kind == .conflict)
        try change.script("ROLLBACK; BEGIN ISOLATION LEVEL SERIALIZABLE")
        #expect(throws: StoreNode.Lost.self) { try node.check(change) }
    }

    @Test("Two processes with the same local files: the second one takes the place of the first")
    func copied() async throws {
        let ledger = StoredLedger(try shared.open(shared.first))
        // As on a machine that was cloned. On one machine, a lock keeps the second process out.
        try shared.run("UPDATE node SET fence = fence + 1")
        await #expect(throws: LedgerUnavailable.self) { try await ledger.recordImport(now: shared.clock.clocks.wall()) }
        #expect(ledger.isLost)
        try ledger.close()
    }

    @Test(
        "Without a reading for ten seconds, the sessions are out of date until the next one, also on a machine that is suspended",
        arguments: [false, true])
    func reliance(isSuspended: Bool) async throws {
        // Without sessions nothing reads the changes of other gateways.
        let ledger = StoredLedger(try shared.open(shared.first))
        shared.clock.advance(by: .seconds(9))
        #expect(ledger.isCurrent)
        if isSuspended { shared.clock.suspend(for: .seconds(2)) } else { shared.clock.advance(by: .seconds(2)) }
        #expect(!ledger.isCurrent && !ledger.isLost)
        let sessions = try SessionRegister(ledger, clocks: shared.clock.clocks)
        #expect(await sessions.refresh())
        #expect(sessions.isCurrent)
        try ledger.close()
    }

    @Test("A gateway that has read nothing for so long that changes may be gone does not go on")
    func gap() async throws {
        let ledger = StoredLedger(try shared.open(shared.first))
        try shared.run("UPDATE node SET until = 0")
        let sessions = try SessionRegister(ledger, clocks: shared.clock.clocks)
        #expect(await !sessions.refresh())
        #expect(ledger.lossReason?.contains("too long") == true)
        try ledger.close()
    }

    @Test("Another key of device handles is rejected, and so is a newer store, unless this version may use it")
    func rejected() throws {
        try shared.open(shared.first).close(isUsable: true)
        let third = TemporaryDirectory()
        try PrivateFiles.makeDirectory(third.path)
        try PrivateFiles.write([UInt8](repeating: 8, count: KeyFile.byteCount), toNew: third("ledger.sqlite.key"))
        let wrong = #expect(throws: LedgerUnavailable.self) { try shared.open(third) }
        #expect(wrong?.detail.contains("not the key of this store") == true)
        let none = #expect(throws: LedgerUnavailable.self) { try shared.open(TemporaryDirectory()) }
        #expect(none?.detail.contains("key") == true)
        try shared.run("UPDATE store_version SET version = 99")
        try shared.open(shared.first).close(isUsable: true)
        try shared.run("UPDATE store_version SET usable_from = 99")
        let newer = #expect(throws: LedgerUnavailable.self) { try shared.open(shared.first) }
        #expect(newer?.detail.contains("version 99") == true)
    }

    @Test("A store of the first version gets the tables of later ones while a gateway uses it")
    func migration() throws {
        let store = try shared.open(shared.first)
        try shared.run(
            """
            DROP TABLE journal_line, journal_copy, journal_count, minute_count, pair_count, pair_other;
            ALTER TABLE store_version DROP COLUMN usable_from; ALTER TABLE debt SET UNLOGGED;
            DROP INDEX node_place;
            DROP TABLE node_commit;
            ALTER TABLE node DROP COLUMN timeline, DROP COLUMN compared;
            UPDATE store_version SET version = 1
            """)
        try shared.open(shared.second).close(isUsable: true)
        let connection = try shared.connect()
        defer { connection.close() }
        let logged = "SELECT FROM pg_class WHERE oid = 'debt'::regclass AND relpersistence = 'p'"
        #expect(try connection.execute(logged) == 1)
        try shared.run("INSERT INTO pair_count VALUES (1, 'a', 'b', 1, 0, 0, 0)")
        // A gateway of the first version does not look for its commits.
        try shared.run(
            "INSERT INTO node_commit SELECT instance, 'ledger', 100 FROM node ON CONFLICT (instance, lane) DO NOTHING")
        try shared.run("INSERT INTO journal_copy VALUES ('a', 0, 0, decode(repeat('00', 32), 'hex'), 0, '')")
        try store.close(isUsable: true)
    }

    @Test("A store that is older than the last run of its gateway counts as restored")
    func restored() throws {
        let store = try shared.open(shared.first)
        #expect(try StoredLedger(store).pendingRestore() == nil)
        try store.close(isUsable: true)
        let again = try shared.open(shared.first)
        #expect(try StoredLedger(again).pendingRestore() == nil)
        try again.close(isUsable: true)
        // As in a copy from before the last run.
        try shared.run("UPDATE node SET fence = 1")
        let restored = try shared.open(shared.first)
        #expect(try StoredLedger(restored).pendingRestore() != nil)
        try restored.close(isUsable: true)
    }

    @Test("A gateway that was killed, and others that ran since, do not look like a restore")
    func killed() throws {
        // Dropped without `close`.
        for _ in 0..<2 { #expect(try StoredLedger(shared.open(shared.first)).pendingRestore() == nil) }
        try shared.expire()
        let other = try shared.open(shared.second)
        #expect(try StoredLedger(other).pendingRestore() == nil)
        try other.close(isUsable: true)
        let back = try shared.open(shared.first)
        #expect(try StoredLedger(back).pendingRestore() == nil)
        try back.close(isUsable: true)
    }

    @Test("A reader needs no right, and changes nothing")
    func reading() async throws {
        let clock = shared.clock
        let reading = { [shared] () throws(LedgerUnavailable) -> StoredLedger in
            StoredLedger(try shared.open(shared.first, .reading))
        }
        let missing = #expect(throws: LedgerUnavailable.self) { try reading() }
        #expect(missing?.detail.contains("no gateway has used this database") == true)
        let store = StoredLedger(try shared.open(shared.first))
        let reader = try reading()
        #expect(try await reader.migration() == .notImported)
        await #expect(throws: LedgerUnavailable.self) { try await reader.recordImport(now: clock.clocks.wall()) }
        try reader.close()
        #expect(store.fault == nil)
        try store.close()
    }
}
