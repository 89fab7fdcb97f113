internal import GatewayCore
internal import GatewaySupport

/// A line of an export: one JSON object with one member, whose name tells the kind of the line.
enum TransferLine: Sendable, Hashable {
    /// The first line: the format's version, and the fingerprint of the key of device handles.
    case head(version: Int64, key: [UInt8])
    /// A property of the ledger.
    case property(name: String, value: [UInt8])
    /// A row of a table.
    case row(table: String, values: [String: SQLValue])
    /// The last line, with the number of lines before it and their digest. Without it the export is incomplete.
    case end(lines: Int64, digest: [UInt8])

    /// The version of the format.
    static let version: Int64 = 1

    /// The longest line in bytes: a sealed text with its JSON.
    static let longest = 1 << 20

    /// The line as JSON, with a line feed.
    var bytes: [UInt8] {
        let member: JSONValue.Member =
            switch self {
            case .head(let version, let key):
                .init(
                    "notify-gateway-ledger",
                    .object([.init("version", .number("\(version)")), .init("key", Self.hex(key))]))
            case .property(let name, let value):
                .init("property", .object([.init("name", .string(name)), .init("value", Self.hex(value))]))
            case .row(let table, let values):
                .init(
                    table,
                    .object(values.sorted { $0.key < $1.key }.map { .init($0.key, Self.json($0.value)) }))
            case .end(let lines, let digest):
                .init("end", .object([.init("lines", .number("\(lines)")), .init("digest", Self.hex(digest))]))
            }
        return JSONWriter.bytes(of: .object([member])) + [UInt8(ascii: "\n")]
    }

    /// Parses a line without its line feed.
    ///
    /// - Parameter tables: The tables whose rows are expected.
    init(_ bytes: [UInt8], tables: [TransferTable]) throws(LedgerUnavailable) {
        guard case .object(let members)? = try? JSONParser().parse(bytes.span), members.count == 1 else {
            throw LedgerUnavailable("is not a JSON object with one member")
        }
        let (name, value) = (members[0].name, members[0].value)
        switch name {
        case "notify-gateway-ledger":
            guard let version = value["version"]?.integer, let key = Self.bytes(value["key"]) else { throw Self.fault }
            self = .head(version: version, key: key)
        case "property":
            guard let name = value["name"]?.string, let content = Self.bytes(value["value"]) else { throw Self.fault }
            self = .property(name: name, value: content)
        case "end":
            guard let lines = value["lines"]?.integer, let digest = Self.bytes(value["digest"]) else {
                throw Self.fault
            }
            self = .end(lines: lines, digest: digest)
        default:
            guard let table = tables.first(where: { $0.name == name }), case .object(let members) = value else {
                throw LedgerUnavailable("has an unknown kind")
            }
            self = .row(table: name, values: try Self.values(members, of: table))
        }
    }

    private static func values(
        _ members: [JSONValue.Member], of table: TransferTable
    ) throws(LedgerUnavailable) -> [String: SQLValue] {
        guard members.count == table.columns.count else {
            throw LedgerUnavailable("has other columns than the table \(table.name)")
        }
        var values: [String: SQLValue] = [:]
        for member in members {
            guard let column = table.columns.first(where: { $0.name == member.name }) else {
                throw LedgerUnavailable("has other columns than the table \(table.name)")
            }
            guard let value = sql(member.value, column.kind) else {
                throw LedgerUnavailable("has an invalid value of \(column.name)")
            }
            values[column.name] = value
        }
        return values
    }

    private static func sql(_ value: JSONValue, _ kind: TransferTable.Kind) -> SQLValue? {
        if value == .null { return .null }
        return switch kind {
        case .integer: value.integer.map(SQLValue.integer)
        case .text: value.string.map(SQLValue.text)
        case .bytes: bytes(value).map(SQLValue.bytes)
        }
    }

    private static func json(_ value: SQLValue) -> JSONValue {
        switch value {
        case .null: .null
        case .integer(let number): .number("\(number)")
        case .text(let text): .string(text)
        case .bytes(let bytes): hex(bytes)
        }
    }

    private static func hex(_ bytes: [UInt8]) -> JSONValue { .string(String(hexEncoding: bytes)) }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let digits = value?.string.map({ Array($0.utf8) }), digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index].hexDigitValue, let low = digits[index + 1].hexDigitValue else { return nil }
            bytes.append(UInt8(high) << 4 | UInt8(low))
        }
        return bytes
    }

    private static let fault = LedgerUnavailable("lacks a value")
}
