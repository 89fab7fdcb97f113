import GatewayCore

/// Results as a table for people: a line of titles, then a line each, in columns as wide as what stands in them.
struct ResultTable {
    /// One column.
    struct Column {
        /// The member of the results that it shows.
        let member: String
        /// What stands above it.
        let title: String
        /// What stands there for a result without that member.
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

    mutating func add(_ item: JSONValue) {
        rows.append(columns.map { column in item[column.member].map(Self.text) ?? column.absent })
    }

    /// The lines, without spaces at their ends.
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
    /// The text with what could move a terminal's cursor or change its colours made visible.
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
