internal import GatewayCore
internal import PostgreSQLClient

/// The lines of all nodes' journals in PostgreSQL, found through the table's indexes. Confined to one thread.
///
/// Each statement examines a bounded number of rows, so that none runs for long and no more than these are in memory. It is
/// one of a few texts for the conditions of the query, whose values are arguments.
struct LineLocator: AuditLocator {
    /// A line and its place.
    struct Location: Sendable {
        let place: LineKey
        /// The line; empty if it has to be read.
        let line: [UInt8]
    }

    let connection: PostgreSQLConnection
    /// The place before which lines match; nil for all lines.
    var bound: LineKey?
    /// The lines that were there when the first page was read.
    var known = JournalEnds()
    /// Called before each statement but the first. If it returns false, `locate` ends early.
    var mayContinue: () -> Bool = { true }

    /// The number of rows that the first statement examines: a page has fewer.
    private static let firstRows = 128
    /// The maximum number of rows that a statement examines.
    private static let maximumRows = 2048
    /// The maximum number of lines that are read together with their places.
    private static let maximumLines = 2048
    /// The number of lines that one statement reads by their places.
    private static let linesPerStatement = 64

    // MARK: Matching lines

    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (Location) throws -> Bool) throws -> LineKey? {
        let statement = CandidateStatement(filter, newestFirst: newestFirst)
        var reached = newestFirst ? bound : nil
        var limit = Self.firstRows
        while true {
            // Not while they are received: the deadline of a statement includes the time of the visits.
            var found: [(location: Location, matches: Bool)] = []
            var size = 0
            let (sql, arguments) = statement.make(from: reached, limit: limit)
            try connection.forEachRow(sql, arguments) { _, values in
                let row = try StoredRow(values)
                found.append((Location(place: row.place, line: row.line), try row.integer(5) != 0))
                size = Int(try row.integer(6))
            }
            size = max(size, found.count)
            for (location, matches) in found where matches { guard try visit(location) else { return nil } }
            guard size == limit, let last = found.last?.location.place else { return nil }
            reached = last
            limit = min(limit * 4, Self.maximumRows)
            guard mayContinue() else { return reached }
        }
    }

    // MARK: Calls

    /// So many, because a call to an audience may have thousands of lines.
    var maximumCalls: Int { 10 }

    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [Location]] {
        var found: [[UInt8]: [Location]] = [:]
        guard let first = calls.first else { return found }
        // Always as many arguments, so that there is one statement.
        let padded = Array(calls) + Array(repeating: first, count: max(0, maximumCalls - calls.count))
        let places = Array(repeating: "?", count: padded.count).joined(separator: ", ")
        try connection.forEachRow(
            """
            SELECT at, instance, chain, number, CASE WHEN count(*) OVER () <= ? THEN line ELSE '' END AS line, call
            FROM journal_line WHERE call IN (\(places)) ORDER BY at, instance, chain, number
            """,
            [.integer(Int64(Self.maximumLines))] + padded.map { .text(String(decoding: $0, as: UTF8.self)) }
        ) { _, values in
            let row = try StoredRow(values)
            found[try row.text(5), default: []].append(Location(place: row.place, line: row.line))
        }
        return found
    }

    // MARK: Lines

    func line(at location: Location) throws -> [UInt8]? {
        var line: [UInt8]?
        try forEachLine(at: CollectionOfOne(location)) { line = $1 }
        return line
    }

    func forEachLine(at locations: some Sequence<Location>, _ body: (Location, [UInt8]) throws -> Void) throws {
        var batch: [Location] = []
        for location in locations {
            batch.append(location)
            if batch.count == Self.linesPerStatement {
                try read(batch, body)
                batch = []
            }
        }
        try read(batch, body)
    }

    private func read(_ batch: [Location], _ body: (Location, [UInt8]) throws -> Void) throws {
        let missing = batch.filter(\.line.isEmpty).map(\.place)
        var lines: [LineKey: [UInt8]] = [:]
        if let last = missing.last {
            let padded = missing + Array(repeating: last, count: Self.linesPerStatement - missing.count)
            let places = Array(repeating: "(?, ?, ?)", count: padded.count).joined(separator: ", ")
            try connection.forEachRow(
                """
                SELECT at, instance, chain, number, line
                FROM (VALUES \(places)) AS wanted (instance, chain, number)
                JOIN journal_line USING (instance, chain, number)
                """,
                padded.flatMap { [.text($0.instance), .integer($0.chain), .integer($0.number)] }
            ) { _, values in
                let row = try StoredRow(values)
                lines[row.place] = row.line
            }
        }
        for location in batch {
            if !location.line.isEmpty {
                try body(location, location.line)
            } else if let line = lines[location.place] {
                try body(location, line)
            }
        }
    }

    func compacted(_ location: Location) -> Location { Location(place: location.place, line: []) }

    // MARK: Places

    func precedes(_ first: Location, _ second: Location) -> Bool { first.place < second.place }

    func bound(after location: Location) -> LineKey {
        var place = location.place
        place.number += 1
        return place
    }

    func isOnEarlierPage(_ location: Location, _ filter: AuditFilter) -> Bool {
        bound.map { location.place >= $0 } ?? false && known.contains(location.place)
    }

    func contradiction(at location: Location) -> any Error {
        let place = location.place
        return LedgerUnavailable(
            "the table journal_line does not describe line \(place.number) of node \(place.instance) as it is")
    }
}

/// A row that begins with the place of a line and the line.
struct StoredRow {
    let place: LineKey
    let line: [UInt8]
    private let values: [PostgreSQLValue]

    /// Throws if the row has other columns.
    init(_ values: [PostgreSQLValue]) throws(LedgerUnavailable) {
        guard values.count >= 5, case .integer(let at) = values[0], case .text(let instance) = values[1],
            case .integer(let chain) = values[2], case .integer(let number) = values[3],
            case .text(let line) = values[4]
        else { throw Self.unexpected }
        guard LineNumber(row: number) != nil, JournalEnds.chains.contains(chain) else {
            throw LedgerUnavailable(
                "the table journal_line has a row of line \(number) of chain \(chain), which no journal has; audit verify "
                    + "--all-lines names its gateway")
        }
        place = LineKey(at: at, instance: instance, chain: chain, number: number)
        self.line = Array(line.utf8)
        self.values = values
    }

    /// Returns the integer in a column.
    func integer(_ column: Int) throws(LedgerUnavailable) -> Int64 {
        guard column < values.count, case .integer(let value) = values[column] else { throw Self.unexpected }
        return value
    }

    /// Returns the bytes of the text in a column.
    func text(_ column: Int) throws(LedgerUnavailable) -> [UInt8] {
        guard column < values.count, case .text(let value) = values[column] else { throw Self.unexpected }
        return Array(value.utf8)
    }

    private static let unexpected = LedgerUnavailable("the table journal_line has unexpected columns")
}
