internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// Inserts lines into the index within one transaction.
final class AuditInserter {
    private let insertion: Statement
    private let words: AuditWords
    private var clock = LineTimestampReader()

    init(_ database: Database) throws {
        insertion = try database.makeStatement(
            sql: """
                INSERT OR REPLACE INTO record
                    (seq, segment, place, length, at, kind, call, action, user, recipient, pns, result, count)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        words = try AuditWords(database)
    }

    /// Inserts the line. Skips lines without a valid time, kind and number.
    func insert(_ line: JournalLineReader, _ number: UInt64, segment: UInt64, offset: Int) throws {
        guard let at = clock.time(of: line), let kind = line.text("kind"), let seq = Int64(exactly: number),
            let first = Int64(exactly: segment)
        else { return }
        let count = line.count
        // The arguments are unchecked: their number must equal the number of placeholders.
        insertion.setUncheckedArguments([
            seq, first, offset, line.bytes.count, at, try words.number(of: kind),
            line.bytes(of: "call").map { Data($0) }, try id("action", line), try id("user", line),
            try id("recipient", line), try id("pns", line), try id("result", line), count,
        ])
        try insertion.execute()
    }

    private func id(_ member: StaticString, _ line: JournalLineReader) throws -> Int64? {
        try line.text(member).map { try words.number(of: $0) }
    }
}

/// Assigns numbers to the words in the `word` table: users, actions, results, kinds.
final class AuditWords {
    private let database: Database
    private let selection: Statement
    private let insertion: Statement
    private var known: [String: Int64] = [:]

    /// The number of cached words. The cache is emptied when it is full.
    private static let capacity = 50_000

    init(_ database: Database) throws {
        self.database = database
        selection = try database.makeStatement(sql: "SELECT id FROM word WHERE text = ?")
        insertion = try database.makeStatement(sql: "INSERT INTO word (text) VALUES (?)")
    }

    /// Returns the word's number; adds the word to the table if it is new.
    func number(of word: String) throws -> Int64 {
        if let number = known[word] { return number }
        if known.count >= Self.capacity { known.removeAll() }
        let number: Int64
        if let found = try Int64.fetchOne(selection, arguments: [word]) {
            number = found
        } else {
            try insertion.execute(arguments: [word])
            number = database.lastInsertedRowID
        }
        known[word] = number
        return number
    }
}

/// Parses the times of consecutive lines, in microseconds. Caches the last second, because most lines share it with the
/// line before.
struct LineTimestampReader {
    private var second: (text: [UInt8], microseconds: Int64) = ([], 0)

    /// Returns the time at which the line was written; nil if the line has no valid time.
    mutating func time(of line: JournalLineReader) -> Int64? {
        guard let bytes = line.bytes(of: "at") else { return nil }
        // The format is `2026-11-21T07:00:00.000000Z`.
        guard bytes.count == 27 else { return line.time?.microseconds }
        if !bytes.starts(with: second.text) || second.text.isEmpty {
            guard let time = line.time else { return nil }
            second = (Array(bytes.prefix(19)), time.seconds * 1_000_000)
        }
        var fraction: Int64 = 0
        for digit in bytes.dropFirst(20).prefix(6) {
            guard (0x30...0x39).contains(digit) else { return nil }
            fraction = fraction * 10 + Int64(digit - 0x30)
        }
        return second.microseconds + fraction
    }
}

extension JournalLineReader {
    /// The number of events that the line summarizes. Limited to 2^40, so that sums of forged counts cannot overflow.
    var count: Int64 { Int64(min(number("count") ?? 1, 1 << 40)) }
}
