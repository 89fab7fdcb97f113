package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient

/// The counts of all nodes' calls, which ``SharedCounts`` keeps.
extension SharedHistory: CallStatistics {
    package func minutes(since: WallTime?, until: WallTime?) async throws(HistoryUnavailable) -> MinuteStatistics {
        try await run(on: statistics) { try $0.minutes(since: since?.microseconds, until: until?.microseconds) }
    }

    package func pairs(_ query: PairQuery) async throws(HistoryUnavailable) -> PairStatistics {
        try await run(on: statistics) { try $0.pairs(query) }
    }
}

/// Statements on the tables with the counts.
extension LineQueries {
    /// Returns the time of the database's clock and that of the oldest line, in microseconds since 1970; nil without lines.
    func timeRange() throws -> (now: Int64, oldest: Int64?) {
        let now = try time()
        var oldest: Int64?
        try connection.forEachRow("SELECT at FROM journal_line ORDER BY at LIMIT 1") {
            if case .integer(let time) = $1[0] { oldest = time }
        }
        return (now, oldest)
    }

    /// Returns the calls of each minute of the last 24 hours within a range, in microseconds since 1970.
    func minutes(since: Int64?, until: Int64?) throws -> MinuteStatistics {
        let (now, oldest) = try timeRange()
        let numbers = MinuteTable.numbers(since: since ?? .min, until: until ?? .max, now: now)
        var found: [Int64: MinuteSums] = [:]
        if let numbers {
            try connection.forEachRow(
                "SELECT minute, class, latency, count FROM minute_count WHERE minute BETWEEN ? AND ?",
                [.integer(numbers.lowerBound), .integer(numbers.upperBound)]
            ) {
                guard case .integer(let minute) = $1[0], case .text(let word) = $1[1],
                    case .integer(let latency) = $1[2],
                    case .integer(let count) = $1[3]
                else { return }
                found[minute, default: MinuteSums()].add(max(0, Int(count)), word, latency: Int(latency))
            }
        }
        let minutes = (numbers.map(Array.init) ?? []).map { number in
            (found[number] ?? MinuteSums()).minute(number)
        }
        return MinuteStatistics(minutes: minutes, coverage: try coverage(now: now, oldest: oldest))
    }

    /// Returns the sends of pairs of users.
    func pairs(_ query: PairQuery) throws -> PairStatistics {
        let (now, oldest) = try timeRange()
        let hours = BucketSelection(
            since: query.since?.microseconds ?? .min, until: query.until?.microseconds ?? .max,
            retention: PairRetention(now: now, oldest: oldest ?? now), now: now
        ).hours
        let (table, names) = Self.table(of: query)
        let range: [PostgreSQLValue] = [.integer(hours.lowerBound * 2), .integer(hours.upperBound * 2)]
        let limit = max(0, min(query.limit, PairQuery.maximumLimit))
        var result = PairSums()
        try connection.forEachRow(
            """
            WITH sums AS MATERIALIZED (
                SELECT sender, recipient, sum(accepted)::bigint AS accepted, sum(failed)::bigint AS failed,
                    sum(refused)::bigint AS refused, max(last) AS last
                FROM (\(table)) AS found WHERE bucket >= ? AND bucket < ? GROUP BY sender, recipient
            ), selected AS MATERIALIZED (
                SELECT *, \(Self.column(of: query.result)) AS selected FROM sums
                WHERE \(Self.column(of: query.result)) > 0
            )
            (SELECT NULL AS sender, NULL AS recipient, COALESCE(sum(accepted), 0)::bigint AS accepted,
                COALESCE(sum(failed), 0)::bigint AS failed, COALESCE(sum(refused), 0)::bigint AS refused, count(*) AS last
            FROM selected)
            UNION ALL
            (SELECT sender, recipient, accepted, failed, refused, last FROM selected
            ORDER BY selected DESC, sender, recipient LIMIT ?)
            """, names + range + [.integer(Int64(limit))]
        ) { result.add($1) }
        var others = SendCounts()
        try connection.forEachRow(
            """
            SELECT COALESCE(sum(accepted), 0)::bigint AS accepted, COALESCE(sum(failed), 0)::bigint AS failed,
                COALESCE(sum(refused), 0)::bigint AS refused
            FROM pair_other WHERE bucket >= ? AND bucket < ?
            """, range
        ) { others = SendCounts($1[...]) }
        var omitted = result.total
        for row in result.rows { omitted -= row.counts }
        let start = hours.lowerBound * StatisticsBucket.hour
        return PairStatistics(
            rows: result.rows, total: result.total, omittedPairs: max(0, result.matching - result.rows.count),
            omitted: omitted,
            others: others,
            range: WallTime(microseconds: start)..<WallTime(microseconds: hours.upperBound * StatisticsBucket.hour),
            coverage: try coverage(now: now, oldest: oldest))
    }

    /// Returns the statement that selects the rows of the query's users, and its arguments.
    private static func table(of query: PairQuery) -> (sql: String, arguments: [PostgreSQLValue]) {
        var (conditions, names) = (["TRUE"], [] as [PostgreSQLValue])
        for (column, name) in [("sender", query.sender), ("recipient", query.recipient)] {
            guard let name else { continue }
            conditions.append("\(column) = ?")
            names.append(.text(name.text))
        }
        let sql = "SELECT * FROM pair_count WHERE " + conditions.joined(separator: " AND ")
        guard let user = query.user.map({ PostgreSQLValue.text($0.text) }) else { return (sql, names) }
        // Each of the two statements has an index.
        return (
            "\(sql) AND sender = ? UNION ALL \(sql) AND recipient = ? AND sender <> ?",
            names + [user] + names + [user, user]
        )
    }

    private static func column(of result: SendClass?) -> String {
        result.map { "\($0.rawValue)" } ?? "accepted + failed + refused"
    }

    /// Returns which part of the journals is counted. The lines before the first one that is not counted are.
    private func coverage(now: Int64, oldest: Int64?) throws -> StatisticsCoverage {
        guard mayContinue() else { throw LedgerUnavailable("the query takes too long") }
        var end = now
        try connection.forEachRow(
            """
            SELECT min(next.at) AS until FROM journal_copy AS copy
            CROSS JOIN LATERAL generate_series(GREATEST(0, chain - 1000), chain) AS chains (chain)
            LEFT JOIN journal_count AS counted ON counted.instance = copy.instance AND counted.chain = chains.chain
            CROSS JOIN LATERAL (
                SELECT at FROM journal_line AS line
                WHERE line.instance = copy.instance AND line.chain = chains.chain AND number >= COALESCE(counted.next, 0)
                ORDER BY number LIMIT 1) AS next
            """
        ) { if case .integer(let time) = $1[0] { end = max(0, min(now, time)) } }
        // A gateway of the version before copies no journal during an upgrade.
        let uncopied = try connection.execute(
            """
            SELECT FROM node WHERE until > \(StoreNode.now) AND NOT is_exclusive
                AND NOT EXISTS (SELECT FROM journal_copy AS copy WHERE copy.instance = node.instance)
            """)
        var coverage = StatisticsCoverage()
        coverage.countedFrom = oldest.map { WallTime(microseconds: min($0, end)) }
        coverage.countedUntil = WallTime(microseconds: end)
        // Lines are counted some seconds after they were written.
        coverage.isComplete = uncopied == 0 && now - end < MinuteTable.microseconds
        return coverage
    }
}

/// The calls of one minute.
private struct MinuteSums {
    private var sends = SendCounts()
    private var otherRefusals = 0
    private var latency = [Int](repeating: 0, count: LatencyBuckets.count)

    /// Adds calls of a class as ``SharedCounts`` stores it.
    mutating func add(_ count: Int, _ word: String, latency bucket: Int) {
        guard let word = SendClass(rawValue: word) else {
            otherRefusals = otherRefusals.addingSaturating(count)
            return
        }
        sends[word] = sends[word].addingSaturating(count)
        if latency.indices.contains(bucket) { latency[bucket] = latency[bucket].addingSaturating(count) }
    }

    /// Returns the minute with the given number since 1970.
    func minute(_ number: Int64) -> MinuteStatistics.Minute {
        MinuteStatistics.Minute(
            start: WallTime(microseconds: number * MinuteTable.microseconds), sends: sends,
            otherRefusals: otherRefusals,
            latency: LatencyHistogram(latency))
    }
}

/// The rows of a query for pairs: first the sums of all, with the number of pairs in the last column, then the pairs.
private struct PairSums {
    var rows: [PairStatistics.Row] = []
    var total = SendCounts()
    var matching = 0

    mutating func add(_ values: [PostgreSQLValue]) {
        guard values.count == 6, case .integer(let last) = values[5] else { return }
        let counts = SendCounts(values[2...])
        guard case .text(let sender) = values[0], case .text(let recipient) = values[1] else {
            (total, matching) = (counts, max(0, Int(last)))
            return
        }
        rows.append(
            PairStatistics.Row(
                sender: sender, recipient: recipient.isEmpty ? nil : recipient, counts: counts,
                last: WallTime(microseconds: last)))
    }
}

extension SendCounts {
    /// Creates counts from three columns.
    fileprivate init(_ values: ArraySlice<PostgreSQLValue>) {
        let numbers = values.map { value in if case .integer(let number) = value { max(0, Int(number)) } else { 0 } }
        guard numbers.count >= 3 else { return }
        (accepted, failed, refused) = (numbers[0], numbers[1], numbers[2])
    }
}
