internal import GRDB
internal import GatewayCore
internal import GatewaySupport

extension AuditIndex {
    /// Returns the newest sends to the user that may have reached the backend. Blocks.
    func received(by user: UserName, since: WallTime, limit: Int) throws(Failure) -> [ReceivedNotification] {
        try guarded { database in
            guard let recipient = try Self.wordNumber(user.text, database),
                let send = try Self.wordNumber(Action.send.rawValue, database),
                let outcome = try Self.wordNumber(JournalRecord.Kind.outcome.rawValue, database)
            else { return [] }
            let rows = try Row.fetchAll(
                database, sql: Self.receivedQuery,
                arguments: [
                    "recipient": recipient, "send": send, "outcome": outcome, "since": since.microseconds,
                    "unreachable": try Self.wordNumber(CallResult.backendUnreachable.rawValue, database) ?? -1,
                    "overloaded": try Self.wordNumber(CallResult.overloaded.rawValue, database) ?? -1,
                    "limit": limit,
                ])
            return try rows.compactMap { row in
                let sender = try row.decode(String?.self, forColumn: "sender").flatMap(UserName.init(canonical:))
                let service = try row.decode(String?.self, forColumn: "pns").flatMap(PushService.init(rawValue:))
                let time = try row.decode(Int64.self, forColumn: "at")
                guard let sender, let service else { return nil }
                return ReceivedNotification(sender: sender, time: WallTime(microseconds: time), service: service)
            }
        }
    }

    private static let receivedQuery = """
        SELECT (SELECT text FROM word WHERE id = user) AS sender, at, (SELECT text FROM word WHERE id = pns) AS pns
        FROM record
        WHERE recipient = :recipient AND kind = :outcome AND action = :send AND at >= :since
            AND COALESCE(result, 0) NOT IN (:unreachable, :overloaded)
        ORDER BY seq DESC LIMIT :limit
        """
}
