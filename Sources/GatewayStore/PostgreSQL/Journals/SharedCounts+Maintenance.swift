package import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

extension SharedCounts {
    /// Removes minutes and buckets that are not kept any more, adds up the hours of past days, and removes the pairs with
    /// the fewest sends where there are too many.
    ///
    /// - Parameter checksAll: Whether also buckets are examined that grow only if old lines are counted.
    package func maintain(checksAll: Bool) async throws(LedgerUnavailable) {
        _ = try await transaction { [limits] connection in
            let (now, oldest) = try SharedLines(connection: connection).timeRange()
            let retention = PairRetention(now: now, oldest: oldest ?? now)
            try connection.execute(
                "DELETE FROM minute_count WHERE minute <= ?",
                [.integer(now / MinuteTable.microseconds - MinuteTable.capacity)])
            for table in ["pair_count", "pair_other"] {
                try connection.execute(
                    "DELETE FROM \(table) WHERE bucket < ?", [.integer(retention.firstDayHour * 2)])
            }
            try Self.addUpHours(before: retention.firstHour, connection)
            let hour = now / StatisticsBucket.hour
            let recent = [hour - 1, hour, hour + 1].map { $0 * 2 + 1 } + [(retention.firstHour - 24) * 2]
            for bucket in try Self.fullBuckets(of: checksAll ? nil : recent, limits, connection) {
                try Self.removeSmallest(bucket, limits, connection)
            }
        }
    }

    /// The end of a statement that adds rows to those of `pair_other`.
    private static let sumOfOthers = """
        ON CONFLICT (bucket) DO UPDATE SET accepted = pair_other.accepted + excluded.accepted,
            failed = pair_other.failed + excluded.failed, refused = pair_other.refused + excluded.refused
        """

    /// Adds the hours before the given one to their days.
    private static func addUpHours(before hour: Int64, _ connection: PostgreSQLConnection) throws {
        try connection.execute(
            """
            WITH removed AS (DELETE FROM pair_count WHERE bucket < ? AND bucket % 2 = 1 RETURNING *)
            INSERT INTO pair_count (bucket, sender, recipient, accepted, failed, refused, last)
            SELECT bucket / 48 * 48, sender, recipient, sum(accepted)::bigint, sum(failed)::bigint, sum(refused)::bigint,
                max(last)
            FROM removed GROUP BY 1, 2, 3 ORDER BY 2, 3, 1
            \(sumOfPairs)
            """, [.integer(hour * 2)])
        try connection.execute(
            """
            WITH removed AS (DELETE FROM pair_other WHERE bucket < ? AND bucket % 2 = 1 RETURNING *)
            INSERT INTO pair_other (bucket, accepted, failed, refused)
            SELECT bucket / 48 * 48, sum(accepted)::bigint, sum(failed)::bigint, sum(refused)::bigint
            FROM removed GROUP BY 1 ORDER BY 1
            \(sumOfOthers)
            """, [.integer(hour * 2)])
    }

    /// Returns those of the buckets that have too many pairs.
    ///
    /// - Parameter buckets: The examined buckets; nil for all.
    private static func fullBuckets(
        of buckets: [Int64]?, _ limits: Limits, _ connection: PostgreSQLConnection
    ) throws -> [Int64] {
        var found: [Int64] = []
        let condition = buckets == nil ? "TRUE" : "bucket = ANY (?::text::bigint[])"
        try connection.forEachRow(
            "SELECT bucket FROM pair_count WHERE \(condition) GROUP BY bucket HAVING count(*) > ?",
            (buckets.map { [.text(ArrayLiteral.integers($0))] } ?? []) + [.integer(2 * limits.pairsPerBucket)]
        ) { if case .integer(let bucket) = $1[0] { found.append(bucket) } }
        return found
    }

    /// Removes the pairs of a bucket with the fewest sends, and counts their sends without the pair.
    private static func removeSmallest(
        _ bucket: Int64, _ limits: Limits, _ connection: PostgreSQLConnection
    ) throws {
        try connection.execute(
            """
            WITH removed AS (
                DELETE FROM pair_count WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM pair_count WHERE bucket = ?
                    ORDER BY accepted + failed + refused DESC, last DESC OFFSET ?))
                RETURNING *)
            INSERT INTO pair_other (bucket, accepted, failed, refused)
            SELECT bucket, sum(accepted)::bigint, sum(failed)::bigint, sum(refused)::bigint FROM removed GROUP BY bucket
            \(sumOfOthers)
            """, [.integer(bucket), .integer(limits.pairsPerBucket)])
    }
}
