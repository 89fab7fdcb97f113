internal import GRDB
public import GatewayCore
public import GatewaySupport

extension AuditIndex {
    /// Returns the senders who notified the user since the time, most frequent first. Blocks.
    public func senders(to user: UserName, since: WallTime) throws(Failure) -> [SenderSummary] {
        try guarded { database in
            guard let recipient = try Self.wordNumber(user.text, database),
                let send = try Self.wordNumber(Action.send.rawValue, database)
            else { return [] }
            let rows = try Row.fetchAll(
                database, sql: Self.sendersQuery,
                arguments: [
                    "recipient": recipient, "send": send, "since": since.microseconds,
                    "intent": try Self.wordNumberOrNone(JournalRecord.Kind.intent.rawValue, database),
                    "outcome": try Self.wordNumberOrNone(JournalRecord.Kind.outcome.rawValue, database),
                    "refusal": try Self.wordNumberOrNone(JournalRecord.Kind.rejection.rawValue, database),
                    "unreachable": try Self.wordNumberOrNone(CallResult.backendUnreachable.rawValue, database),
                    "overloaded": try Self.wordNumberOrNone(CallResult.overloaded.rawValue, database),
                ])
            return try rows.compactMap(Self.summary)
        }
    }

    /// Returns the word's number, or -1 if the index lacks the word. No row has -1, so a comparison is false; with NULL
    /// it would be neither true nor false.
    private static func wordNumberOrNone(_ word: String, _ database: Database) throws -> Int64 {
        try wordNumber(word, database) ?? -1
    }

    /// Counts intents, minus the outcomes of sends that never reached the backend.
    private static let sendersQuery = """
        SELECT
            (SELECT text FROM word WHERE id = user) AS sender,
            SUM(kind = :intent) - SUM(kind = :outcome AND COALESCE(result, 0) IN (:unreachable, :overloaded)) AS sent,
            MIN(CASE kind WHEN :intent THEN at END) AS first, MAX(CASE kind WHEN :intent THEN at END) AS last,
            GROUP_CONCAT(DISTINCT CASE kind WHEN :intent THEN (SELECT text FROM word WHERE id = pns) END) AS platforms,
            SUM(CASE kind WHEN :refusal THEN count ELSE 0 END) AS refused
        FROM record
        WHERE recipient = :recipient AND action = :send AND at >= :since AND user IS NOT NULL
        GROUP BY user ORDER BY sent DESC, sender
        """

    private static func summary(_ row: Row) throws -> SenderSummary? {
        let sender = try row.decode(String?.self, forColumn: "sender")
        let platforms = try row.decode(String?.self, forColumn: "platforms") ?? ""
        let sent = try row.decode(Int?.self, forColumn: "sent") ?? 0
        let refused = try row.decode(Int?.self, forColumn: "refused") ?? 0
        let first = try row.decode(Int64?.self, forColumn: "first")
        let last = try row.decode(Int64?.self, forColumn: "last")
        guard let sender = sender.flatMap(UserName.init(canonical:)) else { return nil }
        return SenderSummary(
            sender: sender, count: max(0, sent), first: first.map(WallTime.init(microseconds:)),
            last: last.map(WallTime.init(microseconds:)),
            platforms: platforms.split(separator: ",").map(String.init).sorted(),
            refused: refused)
    }
}

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
