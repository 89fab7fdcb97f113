internal import GatewayCore
internal import GatewaySupport

/// The columns of a row of `journal_line` that repeat members of its line, as ``CopiedLines`` writes them.
struct CopiedColumns: Equatable {
    let number: LineNumber
    private let texts: [String?]
    private let integers: [Int64?]

    private static let textColumns = ["kind", "user", "recipient", "action", "result", "call"]

    /// Creates the columns that the row of a line must have; nil if the line has no number.
    init?(_ line: [UInt8], _ times: inout LineTimestampReader) {
        guard let members = line.withUnsafeBytes({ IndexedLine($0, line.indices) }),
            let number = LineNumber(members.number)
        else { return nil }
        self.number = number
        func text(_ range: Range<Int>?) -> String? { range.map { String(decoding: line[$0], as: UTF8.self) } }
        texts = [
            text(members.kind), text(members.user), text(members.recipient), text(members.action), text(members.result),
            text(members.call),
        ]
        let at = members.at.flatMap { range in line[range].withUnsafeBytes { times.time(in: $0) } } ?? 0
        integers = [
            at, members.count == 1 ? nil : members.count, members.milliseconds.map { Int64(clamping: $0) },
        ]
    }

    /// Reads the columns of a row.
    init(_ row: SQLRow, _ number: LineNumber) throws(LedgerUnavailable) {
        self.number = number
        var texts: [String?] = []
        for column in Self.textColumns { texts.append(try row.optional(column)) }
        self.texts = texts
        integers = [try row.required("at"), try row.optional("count"), try row.optional("ms")]
    }
}
