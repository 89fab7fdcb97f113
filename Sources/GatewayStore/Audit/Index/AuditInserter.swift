internal import Foundation
internal import GRDB
internal import GatewayCore

/// Puts lines into the index, within one transaction.
final class AuditInserter {
    private let insertion: Statement
    private let words: AuditWords
    private var second: (text: [UInt8], microseconds: Int64) = ([], 0)

    init(_ database: Database) throws {
        insertion = try database.makeStatement(
            sql: """
                INSERT OR REPLACE INTO record
                    (seq, segment, place, length, at, kind, call, action, user, recipient, pns, result, count)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
        words = try AuditWords(database)
    }

    /// Adds the line; what is none of the journal's is left out.
    func insert(_ line: JournalLineReader, _ number: UInt64, segment: UInt64, place: Int) throws {
        guard let at = time(of: line), let kind = line.text("kind"), let seq = Int64(exactly: number),
            let first = Int64(exactly: segment)
        else { return }
        let count = Int64(clamping: line.number("count") ?? 1)
        // As many as there are question marks.
        insertion.setUncheckedArguments([
            seq, first, place, line.bytes.count, at, try words.number(of: kind),
            line.bytes(of: "call").map { Data($0) }, try id("action", line), try id("user", line),
            try id("recipient", line), try id("pns", line), try id("result", line), count,
        ])
        try insertion.execute()
    }

    private func id(_ member: StaticString, _ line: JournalLineReader) throws -> Int64? {
        try line.text(member).map { try words.number(of: $0) }
    }

    /// When the line was written, in microseconds. Most lines are of the same second as the one before.
    private func time(of line: JournalLineReader) -> Int64? {
        guard let bytes = line.bytes(of: "at") else { return nil }
        // `2026-11-21T07:00:00.000000Z`
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

/// The numbers of words: of users, actions, results and so on.
final class AuditWords {
    private let database: Database
    private let selection: Statement
    private let insertion: Statement
    private var known: [String: Int64] = [:]

    /// How many are remembered between look-ups.
    private static let capacity = 50_000

    init(_ database: Database) throws {
        self.database = database
        selection = try database.makeStatement(sql: "SELECT id FROM word WHERE text = ?")
        insertion = try database.makeStatement(sql: "INSERT INTO word (text) VALUES (?)")
    }

    /// The number of the word, a new one where it has none.
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
