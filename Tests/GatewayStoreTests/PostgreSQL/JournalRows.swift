import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

/// A store in PostgreSQL whose tables contain the given lines of journals.
struct JournalRows {
    let shared: SharedStore
    var settings: PostgreSQLStore.Settings { shared.settings }

    init() throws {
        shared = try SharedStore()
        try shared.open(shared.first).close(isUsable: true)
        try shared.run("DELETE FROM node")
    }

    /// Adds a node.
    func addNode(_ instance: String, host: String) throws {
        let connection = try shared.connect()
        defer { connection.close() }
        try connection.execute(
            """
            INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
            VALUES (?, ?, '', 1, 0, 0, false, 0)
            """, [.text(instance), .text(host)])
    }

    /// Adds lines of a node's journal, in order, and moves the end of its chain behind them.
    func add(_ lines: [[UInt8]], of instance: String, chain: Int64 = 0) throws {
        let connection = try shared.connect()
        defer { connection.close() }
        let copied = CopiedLines(Array(lines.map { $0 + [UInt8(ascii: "\n")] }.joined()))
        let next = try Int64(#require(copied.all.last).number) + 1
        try connection.simple("BEGIN")
        try connection.copyIn(
            "COPY journal_line (\(CopiedLines.columns)) FROM STDIN",
            copied.rows(copied.all[...], instance: instance, chain: chain))
        try connection.execute(
            """
            INSERT INTO journal_copy (instance, chain, next, hash, first, key) VALUES (?, ?, ?, ?, 0, '')
            ON CONFLICT (instance) DO UPDATE SET chain = excluded.chain, next = excluded.next
            """,
            [.text(instance), .integer(chain), .integer(next), .bytes(Array(repeating: 0, count: 32))])
        try connection.simple("COMMIT")
    }

    /// Returns a history of these rows, and the register of sessions that it uses.
    func history() throws -> (history: SharedHistory, sessions: SessionRegister) {
        let ledger = try StoredLedger(file: shared.second("sessions.sqlite"))
        let sessions = try SessionRegister(ledger, clocks: .system)
        return (SharedHistory(settings, sessions: sessions, clocks: .system), sessions)
    }

    /// Returns the lines of a journal, in order.
    static func lines(_ journal: JournalFixture) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        try AuditTrail(directory: journal.directory.path).lines(AuditQuery()) { lines.append($0) }
        return lines
    }
}
