internal import GatewaySupport
internal import PostgreSQLClient

/// Successive lines of a journal as rows of the table `journal_line`.
struct CopiedLines {
    /// One line.
    struct Line {
        let number: UInt64
        /// The line in the bytes, without its line feed.
        fileprivate let range: Range<Int>
        fileprivate let members: IndexedLine
    }

    /// The hash before the first line.
    static let noHash = String(repeating: "0", count: 64)
    /// The columns of the rows.
    static let columns = #"instance, chain, number, at, kind, "user", recipient, action, result, call, count, ms, line"#
    /// The length of a line from `,"prev":"` to its end, and the distances of the two hashes from there.
    private static let (tailLength, previousDistance, hashDistance) = (149, 9, 83)
    private static let hashLength = 64

    private let bytes: [UInt8]
    /// The lines. One without a number, which no journal has, is left out.
    let all: [Line]

    /// Splits lines, each with its line feed.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var lines: [Line] = []
        var start = 0
        while start < bytes.count {
            let end = ChainCheck.endOfLine(in: bytes, from: start) ?? bytes.count
            let range = start..<end
            if let members = bytes.withUnsafeBytes({ IndexedLine($0, range) }) {
                lines.append(Line(number: members.number, range: range, members: members))
            }
            start = end + 1
        }
        all = lines
    }

    /// Returns the hash in the line, or ``noHash`` if the line is malformed.
    func hash(of line: Line) -> String { hash(of: line, at: Self.hashDistance) }

    /// Returns the hash of the line before, or ``noHash`` if the line is malformed.
    func previous(of line: Line) -> String { hash(of: line, at: Self.previousDistance) }

    /// Returns the largest number through which retention has removed lines, as `retired` lines state that the key has signed;
    /// nil without one. A line can only state the removal of lines before it.
    func retiredThrough(in lines: ArraySlice<Line>, signedBy key: Ed25519.PublicKey) -> UInt64? {
        lines.compactMap { line in
            guard let kind = line.members.kind, bytes[kind].elementsEqual("retired".utf8) else { return nil }
            return JournalLineReader(bytes: bytes[line.range]).retiredThrough(signedBy: [key])
        }.max()
    }

    private func hash(of line: Line, at distance: Int) -> String {
        guard CheckedLine.isWellFormed(bytes, line.range) else { return Self.noHash }
        let start = line.range.upperBound - Self.tailLength + distance
        let digits = bytes[start..<(start + Self.hashLength)]
        return SHA256.Digest(hexDigits: digits) == nil ? Self.noHash : String(decoding: digits, as: UTF8.self)
    }

    /// Returns the rows of lines.
    func rows(_ lines: ArraySlice<Line>, instance: String, chain: Int64) -> CopyRows {
        // The columns repeat a part of the line.
        var rows = CopyRows(capacity: lines.reduce(0) { $0 + $1.range.count } * 3 / 2)
        var times = LineTimestampReader()
        let instance = Array(instance.utf8)
        bytes.withUnsafeBytes { bytes in
            instance.withUnsafeBytes { instance in
                func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
                    UnsafeRawBufferPointer(rebasing: bytes[range])
                }
                for line in lines {
                    let members = line.members
                    rows.add(instance)
                    rows.add(chain)
                    rows.add(Int64(line.number))
                    rows.add(members.at.flatMap { times.time(in: part($0)) } ?? 0)
                    for member in [
                        members.kind, members.user, members.recipient, members.action, members.result, members.call,
                    ] {
                        if let member { rows.add(part(member)) } else { rows.addNull() }
                    }
                    if members.count != 1 { rows.add(members.count) } else { rows.addNull() }
                    if let duration = members.milliseconds {
                        rows.add(Int64(clamping: duration))
                    } else {
                        rows.addNull()
                    }
                    rows.add(part(line.range))
                    rows.endRow()
                }
            }
        }
        return rows
    }
}
