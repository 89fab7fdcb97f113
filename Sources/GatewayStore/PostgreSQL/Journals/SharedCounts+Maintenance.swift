package import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

extension SharedCounts {
    /// The number of rows that one transaction removes.
    private static let rowsAtOnce: Int64 = 20_000

    /// Removes the pairs with the fewest sends where there are too many, minutes and buckets that are not kept any more, and
    /// adds up the hours of past days. Ends early if the task is cancelled; each transaction is short.
    ///
    /// - Parameter checksAll: Whether also buckets are examined that grow only if old lines are counted.
    package func maintain(checksAll: Bool) async throws(LedgerUnavailable) {
        let times = try await transaction { try LineQueries(connection: $0).timeRange() }
        guard let (now, oldest) = times else { return }
        let retention = PairRetention(now: now, oldest: oldest ?? now)
        let hour = now / StatisticsBucket.hour
        // Hours are examined before they become a day.
        var buckets: [Int64]? = [hour - 1, hour, hour + 1].map { $0 * 2 + 1 } + [(retention.firstHour - 24) * 2]
        if checksAll { buckets = try await transaction { try Self.buckets($0) } }
        for bucket in buckets ?? [] {
            try await repeated { [limits] in try Self.removeSmallest(bucket, limits, $0) }
        }
        let oldestMinute = now / MinuteTable.microseconds - MinuteTable.capacity
        let removals: [(table: String, condition: String, value: Int64)] = [
            ("minute_count", "minute <= ?", oldestMinute),
            ("pair_count", "bucket < ?", retention.firstDayHour * 2),
            ("pair_other", "bucket < ?", retention.firstDayHour * 2),
        ]
        for (table, condition, value) in removals {
            try await repeated {
                try $0.execute(
                    """
                    DELETE FROM \(table) WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM \(table) WHERE \(condition) LIMIT \(Self.rowsAtOnce)))
                    """, [.integer(value)]) == Int(Self.rowsAtOnce)
            }
        }
        try await repeated { try Self.addUpHours(before: retention.firstHour, $0) }
    }

    /// Repeats a step, each time in a transaction of its own, until it says that nothing is left.
    private func repeated(
        _ step: @escaping @Sendable (PostgreSQLConnection) throws -> Bool
    ) async throws(LedgerUnavailable) {
        while try await transaction(step) ?? false, !Task.isCancelled {}
    }

    /// Adds some of the hours before the given one to their days. Returns whether more are left.
    private static func addUpHours(before hour: Int64, _ connection: PostgreSQLConnection) throws -> Bool {
        let pairs = try connection.execute(
            """
            WITH removed AS (
                DELETE FROM pair_count WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM pair_count WHERE bucket < ? AND bucket % 2 = 1 LIMIT \(rowsAtOnce)))
                RETURNING *)
            INSERT INTO pair_count (bucket, sender, recipient, accepted, failed, refused, last)
            SELECT bucket / 48 * 48, sender, recipient, \(saturatedSums), max(last)
            FROM removed GROUP BY 1, 2, 3 ORDER BY 2, 3, 1
            \(sumOfPairs)
            """, [.integer(hour * 2)])
        let others = try connection.execute(
            """
            WITH removed AS (DELETE FROM pair_other WHERE bucket < ? AND bucket % 2 = 1 RETURNING *)
            INSERT INTO pair_other (bucket, accepted, failed, refused)
            SELECT bucket / 48 * 48, \(saturatedSums) FROM removed GROUP BY 1 ORDER BY 1
            \(sumOfOthers)
            """, [.integer(hour * 2)])
        return pairs + others > 0
    }

    /// The sums of rows of `pair_count` or `pair_other`.
    private static let saturatedSums = SendClass.allCases.map { saturated("sum(\($0.rawValue))") }.joined(
        separator: ", ")

    /// The end of a statement that adds rows to those of `pair_other`.
    private static let sumOfOthers = "ON CONFLICT (bucket) DO UPDATE SET \(sums(in: "pair_other"))"

    /// Returns the buckets that have pairs, of which there are some hundreds.
    private static func buckets(_ connection: PostgreSQLConnection) throws -> [Int64] {
        var found: [Int64] = []
        // The statement looks each bucket up in the index, instead of reading all rows.
        try connection.forEachRow(
            """
            WITH RECURSIVE present AS (
                SELECT min(bucket) AS bucket FROM pair_count
                UNION ALL
                SELECT (SELECT min(bucket) FROM pair_count WHERE bucket > present.bucket) FROM present
                WHERE present.bucket IS NOT NULL
            )
            SELECT bucket FROM present WHERE bucket IS NOT NULL
            """
        ) { if case .integer(let bucket) = $1[0] { found.append(bucket) } }
        return found
    }

    /// Removes pairs of a bucket if there are too many, and counts their sends without the pair. Those of the senders with the
    /// most pairs go first, and of these the ones with the fewest sends, so that a sender with very many recipients displaces
    /// mostly own pairs. Returns whether more have to be removed.
    private static func removeSmallest(
        _ bucket: Int64, _ limits: Limits, _ connection: PostgreSQLConnection
    ) throws -> Bool {
        let most = 2 * limits.pairsPerBucket
        var count: Int64 = 0
        try connection.forEachRow(
            "SELECT count(*) FROM (SELECT FROM pair_count WHERE bucket = ? LIMIT ?) AS pairs",
            [.integer(bucket), .integer(most + limits.pairsAtOnce + 1)]
        ) { if case .integer(let number) = $1[0] { count = number } }
        guard count > most else { return false }
        let removed = min(limits.pairsAtOnce, count - limits.pairsPerBucket)
        try connection.execute(
            """
            WITH removed AS (
                DELETE FROM pair_count WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM (
                        SELECT ctid, accepted + failed + refused AS sends, last, row_number() OVER (
                            PARTITION BY sender ORDER BY accepted + failed + refused DESC, last DESC) AS rank
                        FROM pair_count WHERE bucket = ?) AS ranked
                    ORDER BY rank DESC, sends, last LIMIT ?))
                RETURNING *)
            INSERT INTO pair_other (bucket, accepted, failed, refused)
            SELECT bucket, \(saturatedSums) FROM removed GROUP BY bucket
            \(sumOfOthers)
            """, [.integer(bucket), .integer(removed)])
        return count - removed > most
    }
}
