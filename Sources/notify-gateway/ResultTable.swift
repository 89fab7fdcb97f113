import GatewayCore
import GatewaySupport

/// A table of results for people: a header line, then one line per result, with columns as wide as their content.
struct ResultTable {
    /// A column of the table.
    struct Column {
        /// The name of the member that the column shows.
        let member: String
        /// The header.
        let title: String
        /// The text for a result without that member.
        let absent: String

        init(_ member: String, _ title: String, absent: String = "-") {
            self.member = member
            self.title = title
            self.absent = absent
        }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    init(_ columns: [Column]) { self.columns = columns }

    var isEmpty: Bool { rows.isEmpty }

    /// Adds the row of a result.
    mutating func add(_ item: JSONValue) {
        rows.append(columns.map { column in item[column.member].map(Self.text) ?? column.absent })
    }

    /// The lines of the table, without trailing spaces.
    var text: String {
        let all = [columns.map(\.title)] + rows
        let widths = columns.indices.map { index in all.map { $0[index].count }.max() ?? 0 }
        return all.map { row in
            let cells = zip(row, widths).map { cell, width in
                cell + String(repeating: " ", count: width - cell.count)
            }
            let line = cells.joined(separator: "  ")
            return String(line.reversed().drop { $0 == " " }.reversed())
        }.joined(separator: "\n")
    }

    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .null: "-"
        case .bool(let flag): flag ? "yes" : "no"
        case .number(let text): text
        case .string(let text): text.isEmpty ? "-" : text.printable
        case .array(let values): values.isEmpty ? "-" : values.map(text).joined(separator: ",")
        case .object: String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
        }
    }
}

extension String {
    /// The text with control and format characters replaced, which could manipulate a terminal.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator: "\u{FFFD}"
                    default: scalar
                    }
                }))
    }
}
