import GatewayCore
import GatewayStore
import GatewaySupport

/// Prints journal records. A table is printed once all records have been added; JSON and CSV are printed record by
/// record.
struct AuditPrinter {
    /// The output format.
    enum Format {
        /// A table for people.
        case table
        /// The unchanged lines of the journal.
        case json
        /// CSV (RFC 4180) with a column for every member.
        case csv
    }

    private let format: Format
    private let member: NodeMemberOption
    /// The columns of CSV.
    private let columns: [String]
    private var table: ResultTable
    private var hasTitles = false
    /// The number of added records.
    private(set) var count = 0

    /// The members of records, in the order of the journal.
    private static let members = [
        "seq", "at", "kind", "call", "action", "user", "attempted", "authenticator", "peer", "recipient", "audience",
        "pns", "platform", "registration", "tags", "session", "rule", "fence", "secure", "secure-id", "limit",
        "would-limit", "bytes",
        "digest", "idempotency", "result", "reason", "status", "ms", "notification", "count", "operator", "target",
    ]

    /// Creates a printer.
    ///
    /// - Parameters:
    ///   - hasNodes: Whether tables and CSV have a column for the node of each record.
    ///   - member: Whether lines name their node.
    init(_ format: Format, hasNodes: Bool, _ member: NodeMemberOption) {
        self.format = format
        self.member = member
        columns = Self.members + (hasNodes ? ["node"] : [])
        table = ResultTable(
            [.init("at", "TIME")] + (hasNodes ? [.init("node", "NODE")] : []) + [
                .init("kind", "KIND"), .init("user", "USER"), .init("action", "ACTION"),
                .init("recipient", "RECIPIENT"), .init("pns", "PNS"), .init("result", "RESULT"),
                .init("rule", "RULE"), .init("limit", "LIMIT"), .init("peer", "PEER"),
                .init("count", "COUNT", absent: "1"), .init("call", "CALL"),
            ])
    }

    /// Adds a line of the journal.
    mutating func add(_ line: AuditLine) throws {
        count += 1
        switch format {
        case .json:
            try Console.printLine(member.bytes(of: line))
        case .table:
            if let record = Self.record(line.namingNode) { table.add(record) }
        case .csv:
            try title()
            if let record = Self.record(line.namingNode) {
                try Console.printResult(Self.row(columns.map { Self.text(record[$0]) }))
            }
        }
    }

    /// Prints the remaining output.
    mutating func finish() throws {
        switch format {
        case .json: break
        case .table: if !table.isEmpty { try Console.printResult(table.text) }
        case .csv: try title()
        }
    }

    private mutating func title() throws {
        if !hasTitles { try Console.printResult(Self.row(columns)) }
        hasTitles = true
    }

    /// Parses a line of the journal; returns nil if it is not JSON.
    static func record(_ line: [UInt8]) -> JSONValue? { try? JSONParser().parse(line.span) }

    /// Returns the text of a CSV cell.
    static func text(_ value: JSONValue?) -> String { plain(value, escapingFormula) }

    /// Returns the value as text.
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

    /// Returns the text with a prefix if a spreadsheet would evaluate it as a formula. Any client can choose the name
    /// of a failed login.
    private static func escapingFormula(_ text: String) -> String {
        guard let first = text.unicodeScalars.first, "=+-@\t\r".unicodeScalars.contains(first) else { return text }
        return "'" + text
    }

    /// Returns a CSV row, with the cells quoted where RFC 4180 requires it.
    static func row(_ cells: [String]) -> String {
        cells.map { cell in
            let isPlain = cell.utf8.allSatisfy { byte in
                byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: ",")
            }
            return isPlain ? cell : "\"\(cell.replacing("\"", with: "\"\""))\""
        }.joined(separator: ",") + "\r"
    }
}
