extension PostgreSQLDebts {
    /// Adds debts to rows, and returns the totals. Three arguments: keys, debts and maximum debts, as text of arrays.
    static let addition = """
        WITH clock AS MATERIALIZED (
            SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS now
        )
        INSERT INTO debt (key, arrival, maximum)
        SELECT added.key, clock.now + least(added.debt, added.maximum), added.maximum
        FROM unnest(?::text::bytea[], ?::text::bigint[], ?::text::bigint[]) AS added (key, debt, maximum), clock
        ORDER BY added.key
        ON CONFLICT (key) DO UPDATE SET
            arrival = least(
                greatest(debt.arrival, (SELECT now FROM clock)) + (excluded.arrival - (SELECT now FROM clock)),
                (SELECT now FROM clock) + excluded.maximum),
            maximum = excluded.maximum
        RETURNING key, arrival - (SELECT now FROM clock)
        """

    /// The number of rows that one statement of `expiries` removes.
    static let expiredAtOnce = 5000

    /// Statements that remove rows that have expired: debts, removals that are a day old, logins that are 30 days old, and
    /// logins beyond the maximum number for one user.
    static let expiries = [
        """
        DELETE FROM debt WHERE key = ANY (ARRAY(
            SELECT key FROM debt WHERE arrival < (SELECT \(StoreNode.now)) * 1000
            LIMIT \(expiredAtOnce) FOR UPDATE SKIP LOCKED))
        """,
        """
        DELETE FROM debt_change WHERE number = ANY (ARRAY(
            SELECT number FROM debt_change
            WHERE at < (SELECT \(StoreNode.now)) - \(days(30))
                OR kind <> 'known-login' AND at < (SELECT \(StoreNode.now)) - \(days(1))
            LIMIT \(expiredAtOnce) FOR UPDATE SKIP LOCKED))
        """,
        """
        DELETE FROM debt_change WHERE number = ANY (ARRAY(
            SELECT number FROM (
                SELECT number, row_number() OVER (PARTITION BY substring(pattern FROM 2 FOR 8) ORDER BY number DESC)
                FROM debt_change WHERE kind = 'known-login'
            ) AS logins (number, rank)
            WHERE rank > \(addressesPerUser) LIMIT \(expiredAtOnce)))
        """,
    ]

    /// The number of known addresses of one user, as in `KnownLogins`.
    static let addressesPerUser = 256

    private static func days(_ count: Int64) -> Int64 { count * 86_400_000_000 }
}

/// Arrays as text, which statements convert with `?::text::bytea[]` and `?::text::bigint[]`.
enum ArrayLiteral {
    /// Returns an array of numbers.
    static func integers(_ numbers: [Int64]) -> String { "{" + numbers.map(String.init).joined(separator: ",") + "}" }

    /// Returns an array of byte strings.
    static func bytes(_ strings: [[UInt8]]) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        text.reserveCapacity(2 + strings.reduce(0) { $0 + 7 + 2 * $1.count })
        for (index, bytes) in strings.enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            text += #""\\x"#.utf8
            for byte in bytes {
                text.append(digits[Int(byte >> 4)])
                text.append(digits[Int(byte & 15)])
            }
            text.append(UInt8(ascii: "\""))
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
