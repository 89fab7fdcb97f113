import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore

/// Arbitrary rows of the journals' tables, as another gateway or a role of the database can write them.
///
/// In no state may a trap end the process. And if `audit verify --all-lines` on the second gateway finds nothing, then lists show
/// what the gateways wrote, and nothing else, up to the last line that the second gateway's journal records of the first.
@Suite(
    "PostgreSQL: any rows of the journals", .timeLimit(.minutes(240)),
    .enabled(if: PostgreSQLServer.isInstalled, "PostgreSQL is not installed"))
struct StoredRowTests {
    private static let states = TestRun.count(full: 100_000, otherwise: 400)
    private static let tables = ["journal_line", "journal_copy", "minute_count", "pair_count", "pair_other", "node"]
    private static let numbers = [
        "0", "1", "-1", "2", "7", "\(Int64.max)", "\(Int64.max - 1)", "\(Int64.min)", "\(Int64.max / 2)",
        "(1::bigint << 40)",
    ]

    @Test("Random changes of rows")
    func randomRows() async throws {
        let journals = try CopiedJournals()
        try await journals.record(0..<6, at: journals.second)
        try await journals.publish(0..<8)
        try await journals.copy(journals.second)
        for table in Self.tables { try journals.execute("CREATE TABLE origin_\(table) AS TABLE \(table)") }
        let report = try journals.second.fixture.verified(keys: [JournalFixture.key(2).publicKey])
        let known = try #require(report.nodeHeads.nodes.values.first?.entries.last?.number)
        let own = report.signedThrough
        let settings = journals.second.store.settings
        let connection = try journals.connect()
        let restoring = Self.tables.map { "DELETE FROM \($0); INSERT INTO \($0) SELECT * FROM origin_\($0);" }.joined()
        let reader = try SharedJournals(settings)
        let sessions = try SessionRegister(
            StoredLedger(file: journals.second.fixture.directory("sessions.sqlite")), clocks: .system)
        let history = SharedHistory(settings, sessions: sessions, clocks: .system)
        defer {
            connection.close()
            reader.close()
            history.close()
        }
        let first = journals.first.store.node.instance
        func shown() throws -> [[UInt8]] {
            var lines: [[UInt8]] = []
            _ = try reader.forEachLine(AuditQuery(), limit: .max) { line in
                let number = JournalLineReader(bytes: line.bytes[...]).sequence ?? 0
                lines.append(Array("\(number) ".utf8) + line.bytes)
            }
            return lines
        }
        let genuine = try shown()
        var random = SplitMix(seed: 47)
        for state in 0..<Self.states {
            var changes: [String] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changes.append(try change(genuine, first: first, other: journals.second.store.node.instance, &random))
            }
            // A statement that the tables reject changes nothing.
            for change in changes { try? connection.simple(change) }
            let isGood = isGood(journals, report)
            let what: Comment = "\(state): \(changes)"
            let found = try? shown()
            if isGood, let found {
                let wrong = Set(found).symmetricDifference(genuine).filter { line in
                    // Nobody else knows the lines after the last checkpoint.
                    let number = UInt64(String(decoding: line.prefix { $0 != 0x20 }, as: UTF8.self)) ?? 0
                    return number <= min(known, own)
                }
                #expect(wrong.isEmpty, what)
            }
            try await readEverything(history, reader, journals, state)
            try connection.simple(restoring)
        }
    }

    /// Verifies as `audit verify --all-lines` does. Returns whether it would print OK.
    private func isGood(_ journals: CopiedJournals, _ report: JournalVerification.Report) -> Bool {
        var options = NodeJournalVerification.Options(keep: CopiedJournals.keep, now: journals.time(after: .zero))
        options.verifiesLines = true
        let verification = NodeJournalVerification(journals.second.store, options)
        guard let results = try? verification.run(report.nodeHeads), let head = try? verification.copyHead() else {
            return false
        }
        var own = JournalVerification(
            directory: journals.second.fixture.directory.path, keys: [JournalFixture.key(2).publicKey])
        own.copied = head
        return results.allSatisfy { $0.finding == nil } && (try? own.run().isGood) == true
    }

    /// Runs the other readers of the tables.
    private func readEverything(
        _ history: SharedHistory, _ reader: SharedJournals, _ journals: CopiedJournals, _ state: Int
    ) async throws {
        _ = try? await history.minutes(since: nil, until: nil)
        var pairs = PairQuery()
        pairs.limit = 10
        _ = try? await history.pairs(pairs)
        _ = try? await history.page(AuditQuery(), after: nil, limit: 5, isOfCalls: state % 2 == 0)
        if let bob = UserName(canonical: "bob") { _ = try? reader.senders(to: bob, since: WallTime(microseconds: 0)) }
        if var tail = SharedTail(text: "0~") {
            _ = try? reader.next(after: &tail)
            _ = try? reader.last(3, before: tail)
        }
        _ = try? await journals.first.copy.otherHeads()
        _ = try? await journals.first.copy.position()
        if let bytes = try? journals.first.fixture.directory.bytes(
            try JournalReading.segments(in: journals.first.fixture.directory)[0])
        {
            _ = try? await journals.first.copy.add(bytes, readFrom: 1)
        }
        let ledger = StoredLedger(journals.second.store)
        _ = try? await StoreNodes(journals.second.store, ledger: ledger).list()
        if state % 50 == 0 {
            let clocks = journals.second.store.node.clocks
            let node = StoreNode(instance: "third", host: "third", program: "", clocks: clocks)
            _ = try? journals.second.store.database.read {
                try node.acquire($0, isExclusive: false, known: Int64.max / 3)
            }
        }
    }

    /// Returns a statement that changes rows.
    private func change(
        _ genuine: [[UInt8]], first: String, other: String, _ random: inout SplitMix
    ) throws -> String {
        func number(_ random: inout SplitMix) -> String { Self.numbers.randomElement(using: &random) ?? "0" }
        let instance = [first, first, first, other].randomElement(using: &random) ?? first
        let place = "instance = '\(instance)' AND number = \(Int.random(in: 1...20, using: &random))"
        switch Int.random(in: 0..<11, using: &random) {
        case 0:
            let column = ["number", "chain", "at", "count", "ms"].randomElement(using: &random) ?? "at"
            return "UPDATE journal_line SET \(column) = \(number(&random)) WHERE \(place)"
        case 1:
            let column =
                ["kind", "\"user\"", "recipient", "action", "result", "call"].randomElement(using: &random) ?? "kind"
            let value = ["'mallory'", "NULL", "'retired'", "'bob'"].randomElement(using: &random) ?? "NULL"
            return "UPDATE journal_line SET \(column) = \(value) WHERE \(place)"
        case 2: return "DELETE FROM journal_line WHERE \(place)"
        case 3:
            let column = ["next", "first", "chain"].randomElement(using: &random) ?? "next"
            return "UPDATE journal_copy SET \(column) = \(number(&random)) WHERE instance = '\(instance)'"
        case 4:
            return
                "UPDATE journal_copy SET hash = decode(repeat('\(Bool.random(using: &random) ? "00" : "ab")', 32), 'hex')"
        case 5: return "UPDATE journal_copy SET key = 'x' WHERE instance = '\(instance)'"
        case 6:
            return """
                INSERT INTO minute_count VALUES
                    ((extract(epoch FROM now()) / 60)::bigint, 'accepted', \(Int.random(in: -1...20, using: &random)), \(number(&random))),
                    ((extract(epoch FROM now()) / 60)::bigint, 'other', \(Int.random(in: 21...40, using: &random)), \(number(&random)));
                INSERT INTO pair_count VALUES ((extract(epoch FROM now()) / 3600)::bigint * 2 + 1, 'a', 'b', \(number(&random)),
                    \(number(&random)), \(number(&random)), \(number(&random)));
                INSERT INTO pair_other VALUES ((extract(epoch FROM now()) / 3600)::bigint * 2, \(number(&random)), 1, 1)
                """
        case 7:
            let column = ["fence", "until", "applied", "started"].randomElement(using: &random) ?? "fence"
            return "UPDATE node SET \(column) = \(number(&random))"
        default:
            guard let shown = genuine.randomElement(using: &random) else { return "" }
            let line = shown.drop { $0 != 0x20 }.dropFirst()
            let seq = Bool.random(using: &random) ? "\(Int.random(in: 0...60, using: &random))" : "18446744073709551615"
            let forged = try ForgedLine.hashed(
                ForgedLine.altered(Array(line)), number: seq, previous: JournalChain.beginning.previous)
            let text = String(decoding: forged, as: UTF8.self).replacing("'", with: "''")
            if Bool.random(using: &random) {
                return "UPDATE journal_line SET line = '\(text)', \"user\" = 'mallory' WHERE \(place)"
            }
            let owner = [instance, "00000000000000ff"].randomElement(using: &random) ?? instance
            let row = Bool.random(using: &random) ? number(&random) : "\(Int.random(in: 1...60, using: &random))"
            return """
                INSERT INTO journal_line (instance, chain, number, at, kind, "user", recipient, action, line)
                VALUES ('\(owner)', \(Int.random(in: 0...3, using: &random) == 0 ? number(&random) : "0"), \(row),
                    1795000000000000, 'intent', 'mallory', 'bob', 'send', '\(text)')
                """
        }
    }
}
