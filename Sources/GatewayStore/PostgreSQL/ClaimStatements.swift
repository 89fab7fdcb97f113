internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient

/// The statements on the table `claim`. Each has the same effect if it is executed twice.
enum ClaimStatements {
    /// A statement for transactions of the ledger and for groups of statements.
    struct Statement {
        let sql: String
        let arguments: SQLArguments

        /// The statement for the client of PostgreSQL.
        var postgreSQL: PostgreSQLStatement {
            PostgreSQLStatement(sql, arguments.values.map(PostgreSQLValue.init))
        }
    }

    /// A claim of a gateway.
    struct Owner {
        let instance: String
        let fence: Int64
        let claim: UInt64

        fileprivate var values: [SQLValue] { [.text(instance), .integer(fence), .integer(Int64(clamping: claim))] }
    }

    /// The place of a statement in its group: deletions first, because they free keys that are acquired.
    enum Order {
        case deletion([UInt8])
        case renewal(RegistrationID)
        case acquisition([UInt8])

        var bytes: [UInt8] {
            switch self {
            case .deletion(let key): [0] + key
            case .renewal(let id): [1] + Array(id.text.utf8)
            case .acquisition(let key): [2] + key
            }
        }
    }

    /// Deletes the rows of earlier runs of gateways, which a crash has left. Skips those that are being taken over.
    static let removeVoid = """
        DELETE FROM claim WHERE key IN (
            SELECT key FROM claim WHERE NOT EXISTS (
                SELECT 1 FROM node WHERE node.instance = claim.instance AND node.fence = claim.fence)
            FOR UPDATE SKIP LOCKED)
        """

    /// Whether the gateway of the row, with the given name in the statement, is live.
    private static func isLive(_ row: String) -> String {
        """
        EXISTS (SELECT 1 FROM node
            WHERE node.instance = \(row).instance AND node.fence = \(row).fence AND node.until > \(StoreNode.now))
        """
    }

    /// Inserts the row of a key, or takes it over from a gateway that is not live, or from an earlier claim of this one.
    /// Changes no row if another live gateway has the key. Then it does not wait for that gateway's transaction either,
    /// except when both insert the row at the same time.
    static func acquire(_ key: [UInt8], _ owner: Owner) -> Statement {
        Statement(
            sql: """
                INSERT INTO claim AS held (key, instance, fence, number)
                SELECT ?, ?, ?, ? WHERE NOT EXISTS (
                    SELECT 1 FROM claim AS other
                    WHERE other.key = ? AND other.instance <> ? AND \(isLive("other")))
                ON CONFLICT (key) DO UPDATE
                    SET instance = excluded.instance, fence = excluded.fence, number = excluded.number
                    WHERE held.instance = excluded.instance OR NOT \(isLive("held"))
                """,
            arguments: SQLArguments([.bytes(key)] + owner.values + [.bytes(key), .text(owner.instance)]))
    }

    private static func condition(_ keys: [[UInt8]]) -> String {
        let places = Array(repeating: "?", count: keys.count).joined(separator: ", ")
        return "claim.key IN (\(places)) AND claim.instance = ? AND claim.fence = ? AND claim.number = ?"
    }

    private static func arguments(_ keys: [[UInt8]], _ owner: Owner) -> [SQLValue] {
        keys.map(SQLValue.bytes) + owner.values
    }

    /// Deletes the rows of the keys that the claim still has.
    static func delete(_ keys: [[UInt8]], _ owner: Owner) -> Statement {
        Statement(
            sql: "DELETE FROM claim WHERE \(condition(keys))", arguments: SQLArguments(arguments(keys, owner)))
    }

    /// Locks the rows of the keys that the claim still has. An update, unlike a locking read, leaves nothing that a
    /// serializable transaction of another gateway could conflict with.
    static func keep(_ keys: [[UInt8]], _ owner: Owner) -> Statement {
        Statement(
            sql: "UPDATE claim SET number = number WHERE \(condition(keys))",
            arguments: SQLArguments(arguments(keys, owner)))
    }

    /// Deletes the rows of the gateway's claims up to the owner's number.
    static func deleteAll(upTo owner: Owner) -> Statement {
        Statement(
            sql: "DELETE FROM claim WHERE claim.instance = ? AND claim.fence = ? AND claim.number <= ?",
            arguments: SQLArguments(owner.values))
    }

    /// Stores when a registration was last seen, and deletes the rows of the claim, if the claim still has all of them,
    /// the registration is live, and its owner has not too many. Otherwise it changes nothing, as a rule: if another
    /// gateway takes over the claim during the statement, only the time is stored.
    static func renew(
        _ id: RegistrationID, _ renewal: RenewalBuffer.Renewal, limit: Int, _ keys: [[UInt8]], _ owner: Owner
    ) -> Statement {
        let claimed = arguments(keys, owner)
        return Statement(
            sql: """
                WITH renewed AS (
                    UPDATE registration SET last_seen = ?
                    WHERE id IN (
                            SELECT id FROM registration WHERE id = ? AND owner = ? AND state = 'live'
                            FOR NO KEY UPDATE SKIP LOCKED)
                        AND (SELECT count(*) FROM claim WHERE \(condition(keys))) = ?
                        AND (SELECT count(*) FROM registration WHERE owner = ? AND state = 'live') <= ?
                    RETURNING id)
                DELETE FROM claim WHERE \(condition(keys)) AND EXISTS (SELECT 1 FROM renewed)
                """,
            arguments: SQLArguments(
                [.integer(renewal.time.microseconds), .text(id.text), .text(renewal.owner.text)] + claimed + [
                    .integer(Int64(keys.count)), .text(renewal.owner.text), .integer(Int64(clamping: limit)),
                ] + claimed))
    }
}

extension KeyLocks.Key {
    /// The key in the table `claim`. Handles precede registrations.
    var bytes: [UInt8] {
        switch self {
        case .handle(let handle): [UInt8(ascii: "h")] + Array(handle.service.rawValue.utf8) + [0] + handle.digest.bytes
        case .registration(let id): [UInt8(ascii: "r")] + Array(id.text.utf8)
        }
    }
}
