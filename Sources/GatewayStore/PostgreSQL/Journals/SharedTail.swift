internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// A place after the lines of all nodes' journals that have been read, from which the lines that were added since can be
/// read.
///
/// Lines of different nodes become visible out of the order of their times, so each journal is followed by the numbers of
/// its lines.
package struct SharedTail: Sendable, Hashable {
    /// A line, and the place after it.
    package struct Line: Sendable, Hashable {
        /// The line with its node.
        package let line: AuditLine
        /// The place after this line and those that were read before it, as text.
        package let position: String
    }

    /// The number after the last line that was read of each journal.
    private(set) var ends: JournalEnds
    /// The time before which lines of a journal that appears later are not new, in microseconds.
    private let start: Int64

    /// The maximum number of lines of one journal that one read returns.
    static let maximumLines: Int64 = 1000

    /// Creates a place after all present lines.
    init(after lines: LineQueries) throws {
        ends = try lines.ends()
        start = try lines.time()
    }

    /// The place as text.
    package var text: String { "\(start)~\(ends.text)" }

    /// Parses the text; nil if it is not one that ``text`` returned.
    package init?(text: String) {
        let parts = text.split(separator: "~", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let start = Int64(parts[0]), let ends = JournalEnds(text: parts[1]) else { return nil }
        self.start = start
        self.ends = ends
    }

    /// Returns at most `count` of the last lines before the place, in the order of their times.
    func last(_ count: Int, in lines: LineQueries) throws -> [AuditLine] {
        guard count > 0 else { return [] }
        let names = try lines.names()
        var found: [AuditLine] = []
        try lines.listing(AuditQuery()).visit(newestFirst: true) { location, line in
            if ends.contains(location.place) { found.append(names.line((location, line))) }
            return found.count < count
        }
        return found.reversed()
    }

    /// Returns the next lines, and moves the place behind them. Lines of different nodes are in the order of their times.
    ///
    /// - Parameter skipsOld: Whether lines of a journal are left out if more have been added than one read returns.
    mutating func next(in lines: LineQueries, skipsOld: Bool = false) throws -> [Line] {
        var passed = ends
        var found: [(time: Int64, line: LineQueries.Listing.Located)] = []
        for (instance, end) in try lines.ends().ends where ends.ends[instance] != end {
            // A clock that was set back does not change the order of a node's lines.
            var time = Int64.min
            for line in try read(instance, to: end, skipsOld: skipsOld, in: lines) {
                time = max(time, line.location.place.at)
                found.append((time, line))
            }
        }
        guard !found.isEmpty else { return [] }
        func key(_ line: LineQueries.Listing.Located, _ time: Int64) -> LineKey {
            var place = line.location.place
            place.at = time
            return place
        }
        let names = try lines.names()
        return found.sorted { key($0.line, $0.time) < key($1.line, $1.time) }.map { _, line in
            let place = line.location.place
            passed.ends[place.instance] = JournalEnds.End(chain: place.chain, next: place.number + 1)
            return Line(line: names.line(line), position: "\(start)~\(passed.text)")
        }
    }

    /// Reads the next lines of one journal. The rest of an earlier chain comes before a new one.
    private mutating func read(
        _ instance: String, to end: JournalEnds.End, skipsOld: Bool, in lines: LineQueries
    ) throws -> [LineQueries.Listing.Located] {
        var from = try ends.ends[instance] ?? firstNew(of: instance, in: lines) ?? end
        if skipsOld, from.chain == end.chain { from.next = max(from.next, end.next - Self.maximumLines) }
        var found: [LineQueries.Listing.Located] = []
        try lines.connection.forEachRow(
            """
            SELECT at, instance, chain, number, line FROM journal_line
            WHERE instance = ? AND (chain, number) >= (?, ?) AND (chain, number) < (?, ?)
            ORDER BY chain, number LIMIT ?
            """,
            [
                .text(instance), .integer(from.chain), .integer(from.next), .integer(end.chain), .integer(end.next),
                .integer(Self.maximumLines),
            ]
        ) { _, values in
            let row = try StoredRow(values)
            found.append((LineLocator.Location(place: row.place, line: row.line), row.line))
        }
        if found.count == Int(Self.maximumLines), let last = found.last?.location.place {
            ends.ends[instance] = JournalEnds.End(chain: last.chain, next: last.number + 1)
        } else {
            ends.ends[instance] = end
        }
        return found
    }

    /// Returns the place of the first new line of a journal that has appeared; nil if it has none. Its older lines are not
    /// read: a node that joins copies a whole journal.
    private func firstNew(of instance: String, in lines: LineQueries) throws -> JournalEnds.End? {
        var found: JournalEnds.End?
        try lines.connection.forEachRow(
            """
            SELECT chain, number FROM journal_line WHERE at >= ? AND instance = ?
            ORDER BY at, instance, chain, number LIMIT 1
            """,
            [.integer(start), .text(instance)]
        ) { _, values in
            guard values.count == 2, case .integer(let chain) = values[0], case .integer(let number) = values[1] else {
                return
            }
            guard LineNumber(row: number) != nil, JournalEnds.chains.contains(chain) else { return }
            found = JournalEnds.End(chain: chain, next: number)
        }
        return found
    }
}
