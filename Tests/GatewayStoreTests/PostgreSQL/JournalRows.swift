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
        var next: Int64 = 0
        let rows = try lines.map { bytes -> [PostgreSQLValue] in
            let line = JournalLineReader(bytes: bytes[...])
            let number = Int64(try #require(line.sequence))
            next = number + 1
            func text(_ name: StaticString) -> PostgreSQLValue { line.text(name).map { .text($0) } ?? .null }
            return [
                .text(instance), .integer(chain), .integer(number), .integer(try #require(line.time).microseconds),
                text("kind"), text("user"), text("recipient"), text("action"), text("result"), text("call"),
                .text(String(decoding: bytes, as: UTF8.self)),
            ]
        }
        try connection.simple("BEGIN")
        try connection.copyIn(
            """
            COPY journal_line (instance, chain, number, at, kind, "user", recipient, action, result, call, line) FROM STDIN
            """, rows)
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
