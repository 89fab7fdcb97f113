internal import Dispatch
package import GatewayCore
package import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// The counts of the calls in all nodes' journals, in a store in PostgreSQL: by minute, and of sends by sender and
/// recipient. Brings the tables with the counts up to date.
///
/// Any node counts the lines of all, whichever comes first, so nothing is missing once a node is gone. A line and the
/// progress that says that it is counted are in one transaction, so each line counts once. Has a connection of its own. One
/// task at a time uses it.
package final class SharedCounts: Sendable {
    /// The bounds of one step and of the tables.
    struct Limits: Sendable {
        /// The maximum number of lines that one transaction counts.
        var linesAtOnce: Int64 = 10_000
        /// The number of pairs that an hour or a day keeps at least. Beyond twice as many, those with the fewest sends are
        /// removed.
        var pairsPerBucket: Int64 = 100_000
        /// The maximum number of pairs that one transaction removes from a bucket, whose pairs it has to sort each time.
        var pairsAtOnce: Int64 = 200_000
    }

    /// The minimum time limit of a statement: a step takes longer than other statements.
    private static let statementTimeout = Duration.seconds(30)
    /// Takes the lock of the schema, which only one node has at a time. The number only has to be the same for all gateways.
    private static let lock = "SELECT pg_try_advisory_xact_lock(709430512, hashtext(current_schema()))::int AS is_alone"
    /// The maximum number of earlier chains of a node that are counted.
    private static let maximumChains = 1000
    /// The maximum length of a counted name in bytes. The gateway writes no longer ones, and the indexes hold no much longer ones.
    private static let maximumNameBytes = 255
    /// The maximum of each number in the tables, as in memory.
    private static let maximumCount = UInt32.max

    private let session: PostgreSQLSession
    let limits: Limits
    /// The number of lines that the next transaction counts: fewer after a failure, because a slow disk may be its reason.
    private let linesAtOnce: Atomic<Int64>

    /// Creates a value without a connection.
    package convenience init(_ settings: PostgreSQLStore.Settings, clocks: Clocks) {
        self.init(settings, clocks: clocks, limits: Limits())
    }

    init(_ settings: PostgreSQLStore.Settings, clocks: Clocks, limits: Limits) {
        var settings = settings.connection
        settings.applicationName = "notify-gateway statistics"
        settings.statementTimeout = max(settings.statementTimeout, Self.statementTimeout)
        session = PostgreSQLSession(
            settings, label: "statistics", clocks: clocks, timeLimit: PostgreSQLSession.Failure()
        ) { connection in
            try connection.simple("SET plan_cache_mode = force_custom_plan; SET enable_seqscan = off; SET jit = off")
        }
        self.limits = limits
        linesAtOnce = Atomic(limits.linesAtOnce)
    }

    /// Counts lines that are not counted yet.
    ///
    /// - Returns: Whether there may be more. False also if another node is counting.
    package func update() async throws(LedgerUnavailable) -> Bool {
        let lines = linesAtOnce.load(ordering: .relaxed)
        // A failure leaves the lower number.
        linesAtOnce.store(max(1, lines / 2), ordering: .relaxed)
        let hasMore = try await transaction { connection in
            let places = try Self.places(connection)
            // Each place has a share, so that the old lines of one do not keep the present ones of the others waiting.
            let share = max(1, lines / Int64(max(1, places.count)))
            return try places.map { try Self.count(after: $0, atMost: share, connection) == share }.contains(true)
        }
        linesAtOnce.store(min(limits.linesAtOnce, lines * 2), ordering: .relaxed)
        return hasMore ?? false
    }

    /// Closes the connection; later calls fail. Blocks.
    package func close() { session.queue.sync { session.close() } }

    /// Runs the body in a transaction; returns nil if another node runs one.
    func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgreSQLConnection) throws -> Value
    ) async throws(LedgerUnavailable) -> Value? {
        // A crash of the server may undo the transaction. Its lines are counted again then.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off"
        return try await session.perform(nil) { connection in
            try connection.simple(begin)
            do {
                var isAlone = false
                try connection.forEachRow(Self.lock) { isAlone = $1.first == .integer(1) }
                let value = isAlone ? try body(connection) : nil
                try connection.commit()
                return value
            } catch {
                if connection.isUsable { try? connection.simple("ROLLBACK") }
                throw error
            }
        }
    }

    // MARK: Counting

    /// The first line of a chain that is not counted yet.
    private struct Place {
        let instance: String
        let chain: Int64
        let next: Int64
    }

    /// Returns the places from which lines are counted: of each node's present chain and of the earlier ones.
    private static func places(_ connection: PostgreSQLConnection) throws -> [Place] {
        try connection.execute(
            """
            DELETE FROM journal_count WHERE NOT EXISTS (
                SELECT FROM journal_copy AS copy WHERE copy.instance = journal_count.instance)
            """)
        try connection.execute(
            """
            INSERT INTO journal_count (instance, chain, next)
            SELECT instance, generate_series(GREATEST(0, chain - ?::integer), chain), 0 FROM journal_copy
            ON CONFLICT (instance, chain) DO NOTHING
            """, [.integer(Int64(maximumChains))])
        var places: [Place] = []
        try connection.forEachRow("SELECT instance, chain, next FROM journal_count ORDER BY instance, chain") {
            guard case .text(let instance) = $1[0], case .integer(let chain) = $1[1], case .integer(let next) = $1[2]
            else { return }
            places.append(Place(instance: instance, chain: chain, next: next))
        }
        return places
    }

    /// Counts lines from a place on, and moves the place behind them. Returns their number, at most `limit`.
    private static func count(
        after place: Place, atMost limit: Int64, _ connection: PostgreSQLConnection
    ) throws -> Int64 {
        let chain: [PostgreSQLValue] = [.text(place.instance), .integer(place.chain)]
        var (count, last) = (0 as Int64, 0 as Int64)
        try connection.forEachRow(
            """
            SELECT count(*), COALESCE(max(number), 0)::bigint AS last FROM (
                SELECT number FROM journal_line WHERE instance = ? AND chain = ? AND number >= ? ORDER BY number LIMIT ?
            ) AS lines
            """, chain + [.integer(place.next), .integer(limit)]
        ) {
            guard case .integer(let lines) = $1[0], case .integer(let number) = $1[1] else { return }
            (count, last) = (lines, number)
        }
        guard count > 0 else { return 0 }
        try connection.execute(addition, chain + [.integer(place.next), .integer(last)])
        try connection.execute(
            "UPDATE journal_count SET next = ? WHERE instance = ? AND chain = ?",
            [.integer(min(last, .max - 1) + 1)] + chain)
        return count
    }

    /// Counts the lines of a chain from one number to another, as ``CountedLine`` does. Rows are changed in the order of their
    /// keys.
    private static let addition = """
        WITH clock AS MATERIALIZED (SELECT \(StoreNode.now) AS now), counted AS MATERIALIZED (
            SELECT at, "user" AS sender, COALESCE(recipient, '') AS recipient, COALESCE(count, 1) AS count,
                CASE WHEN kind = 'outcome' THEN CASE WHEN result IN (\(acceptedResults)) THEN 'accepted' ELSE 'failed' END
                    WHEN action = 'send' THEN 'refused' ELSE 'other' END AS class,
                CASE WHEN kind = 'outcome' AND ms IS NOT NULL
                    THEN width_bucket(ms - 1, ARRAY[\(latencyBounds)]::bigint[]) ELSE -1 END AS latency
            FROM journal_line
            WHERE instance = ? AND chain = ? AND number BETWEEN ? AND ?
                AND (action = 'send' AND kind IN ('outcome', 'refusal')
                    OR kind = 'refusal' AND result IS DISTINCT FROM '\(CountedLine.banEnded)')
                AND COALESCE(octet_length("user"), 0) <= \(maximumNameBytes)
                AND COALESCE(octet_length(recipient), 0) <= \(maximumNameBytes)
        ), minutes AS (
            INSERT INTO minute_count (minute, class, latency, count)
            SELECT at / \(MinuteTable.microseconds), class, latency, \(saturated("sum(count)"))
            FROM counted, clock
            WHERE at / \(MinuteTable.microseconds) > now / \(MinuteTable.microseconds) - \(MinuteTable.capacity)
                AND at / \(MinuteTable.microseconds) <= now / \(MinuteTable.microseconds) + \(MinuteTable.capacity)
            GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
            ON CONFLICT (minute, class, latency)
            DO UPDATE SET count = \(saturated("minute_count.count + excluded.count"))
        )
        INSERT INTO pair_count (bucket, sender, recipient, accepted, failed, refused, last)
        SELECT
            CASE WHEN at / \(StatisticsBucket.day) >= now / \(StatisticsBucket.day) - \(PairRetention.daysByHour)
                THEN at / \(StatisticsBucket.hour) * 2 + 1 ELSE at / \(StatisticsBucket.day) * 48 END AS bucket,
            sender, recipient, \(saturated("COALESCE(sum(count) FILTER (WHERE class = 'accepted'), 0)")),
            \(saturated("COALESCE(sum(count) FILTER (WHERE class = 'failed'), 0)")),
            \(saturated("COALESCE(sum(count) FILTER (WHERE class = 'refused'), 0)")), max(at)
        FROM counted, clock
        WHERE sender IS NOT NULL AND class <> 'other' AND at / \(StatisticsBucket.day)
            BETWEEN now / \(StatisticsBucket.day) - \(PairRetention.days - 1) AND now / \(StatisticsBucket.day) + 1
        GROUP BY 1, 2, 3 ORDER BY 2, 3, 1
        \(sumOfPairs)
        """

    /// The end of a statement that adds rows to those of `pair_count`.
    static let sumOfPairs = """
        ON CONFLICT (sender, recipient, bucket) DO UPDATE SET \(sums(in: "pair_count")),
            last = GREATEST(pair_count.last, excluded.last)
        """

    /// Returns the assignments that add the columns of a new row to those of the present one.
    static func sums(in table: String) -> String {
        SendClass.allCases.map(\.rawValue)
            .map { "\($0) = \(saturated("\(table).\($0) + excluded.\($0)"))" }.joined(separator: ", ")
    }

    /// Returns an expression for a sum that stays within its maximum.
    static func saturated(_ sum: String) -> String { "LEAST(\(sum), \(maximumCount))::bigint" }

    private static let acceptedResults = CallResult.allCases.filter { SendClass($0) == .accepted }
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
    private static let latencyBounds = LatencyBuckets.bounds.map(String.init).joined(separator: ", ")
}
