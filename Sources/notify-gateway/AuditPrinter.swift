import GatewayCore

/// Prints records of the journal: as a table once all are there, otherwise as they come.
struct AuditPrinter {
    /// How records are printed.
    enum Format {
        /// For people.
        case table
        /// The lines of the journal as they stand.
        case json
        /// RFC 4180, every member a column.
        case csv
    }

    private let format: Format
    private var table = ResultTable([
        .init("at", "TIME"), .init("kind", "KIND"), .init("user", "USER"), .init("action", "ACTION"),
        .init("recipient", "RECIPIENT"), .init("pns", "PNS"), .init("result", "RESULT"), .init("rule", "RULE"),
        .init("limit", "LIMIT"), .init("peer", "PEER"), .init("count", "COUNT", absent: "1"), .init("call", "CALL"),
    ])
    private var hasTitles = false
    /// How many records there were.
    private(set) var count = 0

    /// The members of records, in the journal's order.
    private static let columns = [
        "seq", "at", "kind", "call", "action", "user", "attempted", "authenticator", "peer", "recipient", "audience",
        "pns", "platform", "registration", "tags", "session", "rule", "limit", "would-limit", "bytes", "digest",
        "idempotency", "result", "reason", "status", "ms", "count", "operator", "target",
    ]

    init(_ format: Format) { self.format = format }

    /// Takes a line of the journal.
    mutating func add(_ line: [UInt8]) throws {
        count += 1
        switch format {
        case .json:
            try Console.say(String(decoding: line, as: UTF8.self))
        case .table:
            if let record = Self.record(line) { table.add(record) }
        case .csv:
            try title()
            if let record = Self.record(line) {
                try Console.say(Self.row(Self.columns.map { Self.text(record[$0]) }))
            }
        }
    }

    /// Prints what is left.
    mutating func end() throws {
        switch format {
        case .json: break
        case .table: if !table.isEmpty { try Console.say(table.text) }
        case .csv: try title()
        }
    }

    private mutating func title() throws {
        if !hasTitles { try Console.say(Self.row(Self.columns)) }
        hasTitles = true
    }

    static func record(_ line: [UInt8]) -> JSONValue? { try? JSONParser().parse(line.span) }

    /// The text of a cell of CSV.
    static func text(_ value: JSONValue?) -> String { plain(value, harmless) }

    /// The value as text.
    static func plain(_ value: JSONValue?, _ string: (String) -> String = { $0 }) -> String {
        switch value {
        case nil, .null?: ""
        case .bool(let flag)?: flag ? "true" : "false"
        case .number(let text)?: text
        case .string(let text)?: string(text)
        case .array(let values)?: values.map { plain($0, string) }.joined(separator: " ")
        case .object(let members)?: members.map { "\($0.name) \(plain($0.value, string))" }.joined(separator: " ")
        }
    }

    /// A spreadsheet takes a text with such a beginning for a formula, and unverified names are whatever a caller likes.
    private static func harmless(_ text: String) -> String {
        guard let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) else { return text }
        return "'" + text
    }

    static func row(_ cells: [String]) -> String {
        cells.map { cell in
            let isPlain = cell.utf8.allSatisfy { byte in
                byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: ",")
            }
            return isPlain ? cell : "\"\(cell.replacing("\"", with: "\"\""))\""
        }.joined(separator: ",") + "\r"
    }
}
