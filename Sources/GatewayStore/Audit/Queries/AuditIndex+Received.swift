internal import GRDB
internal import GatewayCore

extension AuditIndex {
    /// The newest sends to the user that the backend may have seen. Blocks.
    func received(by user: UserName, since: WallTime, limit: Int) throws(Failure) -> [ReceivedNotification] {
        do {
            return try database.read { database in
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
                return rows.compactMap { row in
                    guard let sender = (row["sender"] as String?).flatMap(UserName.init(canonical:)),
                        let service = (row["pns"] as String?).flatMap(PushService.init(rawValue:))
                    else { return nil }
                    return ReceivedNotification(
                        sender: sender, time: WallTime(microseconds: row["at"]), service: service)
                }
            }
        } catch {
            throw Failure(error)
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
