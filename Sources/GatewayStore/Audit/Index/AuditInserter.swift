internal import Foundation
internal import GRDB
internal import GatewayCore

/// Puts lines into the index, within one transaction.
final class AuditInserter {
    private let insertion: Statement
    private let words: AuditWords
    private var clock = LineClock()

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
        guard let at = clock.time(of: line), let kind = line.text("kind"), let seq = Int64(exactly: number),
            let first = Int64(exactly: segment)
        else { return }
        let count = line.count
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
