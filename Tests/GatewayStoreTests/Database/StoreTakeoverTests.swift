import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

@Suite("The right to a store in PostgreSQL", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct StoreTakeoverTests {
    /// Two installations with the same key of device handles, and one schema.
    private let first = TemporaryDirectory()
    private let second = TemporaryDirectory()
    private let settings: PostgreSQLStore.Settings
    private let clock = ManualClock()

    init() throws {
        let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
        settings = PostgreSQLStore.Settings(connection: try server.freshDatabase(), readers: 2)
        let key = [UInt8](repeating: 7, count: KeyFile.byteCount)
        for directory in [first, second] {
            try PrivateFiles.makeDirectory(directory.path)
            try PrivateFiles.write(key, toNew: directory("ledger.sqlite.key"))
        }
    }

    private func open(
        _ directory: TemporaryDirectory, onWait: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(LedgerUnavailable) -> PostgreSQLStore {
        try PostgreSQLStore(
            settings, file: directory("ledger.sqlite"), use: .exclusive(patience: .zero, onWait: onWait),
            clocks: clock.clocks)
    }

    /// Ends the right of all installations, as time would.
    private func expire() throws {
        let connection = try PostgreSQLConnection.connect(settings.connection, within: .seconds(10))
        try connection.simple("UPDATE node SET until = 0")
        connection.close()
    }

    @Test("A second gateway gets the store once the first one has closed it")
    func closed() throws {
        let store = try open(first)
        #expect(throws: LedgerUnavailable.self) { try open(second) }
        try store.close(isUsable: true)
        try open(second).close(isUsable: true)
        try open(first).close(isUsable: true)
    }

    @Test("After a takeover, the gateway before changes nothing, and knows it")
    func fenced() async throws {
        let store = try open(first)
        let ledger = StoredLedger(store)
        let sessions = try SessionRegister(ledger, clocks: clock.clocks)
        #expect(sessions.isCurrent && !ledger.isLost)
        try expire()
        let other = StoredLedger(try open(second))
        // The first one does not know it yet, and would accept tokens for at most ten seconds more.
        await #expect(throws: LedgerUnavailable.self) { try await ledger.recordImport(now: clock.clocks.wall()) }
        #expect(!sessions.isCurrent && ledger.isLost)
        #expect(try await other.migration() == .notImported)
        #expect(ledger.fault != nil)
        try ledger.close()
        #expect(!other.isLost)
        try await other.recordImport(now: clock.clocks.wall())
        try other.close()
    }

    @Test("Without a renewal for ten seconds, the sessions are out of date until the next one")
    func reliance() async throws {
        let ledger = StoredLedger(try open(first))
        let sessions = try SessionRegister(ledger, clocks: clock.clocks)
        clock.advance(by: .seconds(9))
        #expect(sessions.isCurrent)
        clock.advance(by: .seconds(2))
        #expect(!sessions.isCurrent && !ledger.isLost)
        await ledger.testWrite()
        #expect(sessions.isCurrent)
        try ledger.close()
    }

    @Test("Another key of device handles is rejected, and so is a newer store")
    func rejected() throws {
        try open(first).close(isUsable: true)
        let third = TemporaryDirectory()
        try PrivateFiles.makeDirectory(third.path)
        try PrivateFiles.write([UInt8](repeating: 8, count: KeyFile.byteCount), toNew: third("ledger.sqlite.key"))
        let wrong = #expect(throws: LedgerUnavailable.self) { try open(third) }
        #expect(wrong?.detail.contains("not the key of this store") == true)
        let none = #expect(throws: LedgerUnavailable.self) { try open(TemporaryDirectory()) }
        #expect(none?.detail.contains("key") == true)
        let connection = try PostgreSQLConnection.connect(settings.connection, within: .seconds(10))
        try connection.simple("UPDATE store_version SET version = 99")
        connection.close()
        let newer = #expect(throws: LedgerUnavailable.self) { try open(first) }
        #expect(newer?.detail.contains("version 99") == true)
    }

    @Test("A store that is older than the last run of its gateway counts as restored")
    func restored() throws {
        let store = try open(first)
        #expect(try !StoredLedger(store).isRestored())
        try store.close(isUsable: true)
        let again = try open(first)
        #expect(try !StoredLedger(again).isRestored())
        try again.close(isUsable: true)
        // As in a copy from before the last run.
        let connection = try PostgreSQLConnection.connect(settings.connection, within: .seconds(10))
        try connection.simple("UPDATE node SET fence = 1")
        connection.close()
        let restored = try open(first)
        #expect(try StoredLedger(restored).isRestored())
        try restored.close(isUsable: true)
    }

    @Test("A gateway that was killed, and others that ran since, do not look like a restore")
    func killed() throws {
        // Dropped without `close`.
        for _ in 0..<2 { #expect(try !StoredLedger(open(first)).isRestored()) }
        try expire()
        let other = try open(second)
        #expect(try !StoredLedger(other).isRestored())
        try other.close(isUsable: true)
        let back = try open(first)
        #expect(try !StoredLedger(back).isRestored())
        try back.close(isUsable: true)
    }

    @Test("A reader needs no right, and changes nothing")
    func reading() async throws {
        let reading = { [settings, first, clock] () throws(LedgerUnavailable) -> StoredLedger in
            StoredLedger(
                try PostgreSQLStore(
                    settings, file: first("ledger.sqlite"), use: .reading, clocks: clock.clocks))
        }
        let missing = #expect(throws: LedgerUnavailable.self) { try reading() }
        #expect(missing?.detail.contains("no gateway has used this database") == true)
        let store = StoredLedger(try open(first))
        let reader = try reading()
        #expect(try await reader.migration() == .notImported)
        await #expect(throws: LedgerUnavailable.self) { try await reader.recordImport(now: clock.clocks.wall()) }
        try reader.close()
        #expect(store.fault == nil)
        try store.close()
    }
}
