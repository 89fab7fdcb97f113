internal import GatewaySupport
internal import PostgreSQLClient

/// A line of a journal as a row of the table `journal_line`.
struct CopiedLine {
    let number: UInt64
    private let line: JournalLineReader

    /// The columns of ``row(instance:chain:)``.
    static let columns = #"instance, chain, number, at, kind, "user", recipient, action, result, call, line"#

    /// Splits lines, each with its line feed. A line without a number, which no journal has, is left out.
    static func lines(_ bytes: [UInt8]) -> [CopiedLine] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { CopiedLine(line: JournalLineReader(bytes: $0)) }
    }

    private init?(line: JournalLineReader) {
        guard let number = line.sequence, number <= UInt64(Int64.max) else { return nil }
        (self.number, self.line) = (number, line)
    }

    /// The hash of the line as the line states it; that of no line if it does not, which is damage.
    var hash: String {
        let text = line.text("hash") ?? ""
        return SHA256.Digest(hexDigits: text.utf8) == nil ? Self.noHash : text
    }

    /// The hash before the first line.
    static let noHash = String(repeating: "0", count: 64)

    /// The hash of the line before as the line states it; empty if it does not.
    var previous: String { line.text("prev") ?? "" }

    /// Returns the row. A line that is not UTF-8, which is damage, is stored with replacement characters.
    func row(instance: String, chain: Int64) -> [PostgreSQLValue] {
        func text(_ name: StaticString) -> PostgreSQLValue { line.text(name).map { .text(Self.storable($0)) } ?? .null }
        return [
            .text(instance), .integer(chain), .integer(Int64(number)), .integer(line.time?.microseconds ?? 0),
            text("kind"), text("user"), text("recipient"), text("action"), text("result"), text("call"),
            .text(Self.storable(String(decoding: line.bytes, as: UTF8.self))),
        ]
    }

    /// Returns the text without NUL characters, which PostgreSQL cannot store. A journal has none; damage may.
    private static func storable(_ text: String) -> String {
        text.utf8.contains(0) ? String(text.map { $0 == "\0" ? "\u{FFFD}" : $0 }) : text
    }
}
