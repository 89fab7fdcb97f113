internal import GatewayCore
internal import GatewaySupport

/// The SQL statements on stored texts. Valid only during the database access that created it.
struct SecureTextTables: DatabaseTables {
    /// A stored text as far as the bounds count it.
    struct Counted {
        let place: SecureTextReservation.Place
        let bytes: Int
    }

    /// A sealed text with what it was sealed for.
    struct Sealed {
        let bytes: [UInt8]
        let expiry: WallTime
        let wasFetched: Bool
    }

    private let transaction: any SQLTransaction

    init(_ transaction: any SQLTransaction) { self.transaction = transaction }

    func insert(
        _ sealed: [UInt8], _ place: SecureTextReservation.Place, key: Int64, delivery: WallTime, expiry: WallTime
    ) throws {
        try transaction.execute(
            sql: "INSERT INTO text (id, owner, key, delivery, expiry, size, sealed) VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                place.id.number, place.owner.text, key, delivery.microseconds, expiry.microseconds, sealed.count,
                sealed,
            ])
    }

    /// Looks up a text by its owner first: the texts of other users are not visited, so that the duration tells nothing
    /// about them.
    var select: String {
        """
        SELECT sealed, expiry, fetched FROM text \(transaction.indexHint("text_owner"))
        WHERE owner = ? AND id = ? AND key = ? AND expiry > ?
        """
    }

    func text(_ id: Int32, of owner: UserName, key: Int64, now: WallTime) throws -> Sealed? {
        guard
            let row = try transaction.firstRow(sql: select, arguments: [owner.text, id, key, now.microseconds])
        else { return nil }
        return Sealed(
            bytes: try row.required("sealed", as: [UInt8].self), expiry: try row.time("expiry"),
            wasFetched: try row.optional("fetched", as: Int64.self) != nil)
    }

    var selectUnfetched: String {
        """
        SELECT id, delivery FROM text \(transaction.indexHint("text_unfetched"))
        WHERE owner = ? AND fetched IS NULL AND delivery BETWEEN ? AND ? AND key = ? AND expiry > ?
        ORDER BY delivery DESC LIMIT ?
        """
    }

    func unfetched(
        by owner: UserName, since: WallTime?, limit: Int, key: Int64, now: WallTime
    ) throws -> [UnfetchedText] {
        let rows = try transaction.rows(
            sql: selectUnfetched,
            arguments: [owner.text, since?.microseconds ?? 0, now.microseconds, key, now.microseconds, limit])
        return try rows.compactMap { row in
            try SecureID(row.required("id", as: Int64.self)).map {
                UnfetchedText(id: $0, delivery: try row.time("delivery"))
            }
        }
    }

    func markFetched(_ id: SecureID, at time: WallTime) throws {
        try transaction.execute(
            sql: "UPDATE text SET fetched = ? WHERE id = ? AND fetched IS NULL",
            arguments: [time.microseconds, id.number])
    }

    func remove(_ ids: [SecureID]) throws -> [Counted] {
        try ids.flatMap { try removed("id = ?", [$0.number]) }
    }

    func removeAll(of owner: UserName) throws -> [Counted] { try removed("owner = ?", [owner.text]) }

    /// Removes at most `limit` texts that have expired.
    func removeExpired(at now: WallTime, limit: Int) throws -> [Counted] {
        try removed("id IN (SELECT id FROM text WHERE expiry <= ? LIMIT ?)", [now.microseconds, limit])
    }

    private func removed(_ condition: String, _ arguments: SQLArguments) throws -> [Counted] {
        let rows = try transaction.rows(
            sql: "DELETE FROM text WHERE \(condition) RETURNING id, owner, size", arguments: arguments)
        return try rows.compactMap(Self.counted)
    }

    /// Calls the closure with each text, and whether the key with the fingerprint has sealed it.
    func forEach(key: Int64, _ body: (Counted, _ isReadable: Bool) -> Void) throws {
        try transaction.forEachRow(sql: "SELECT id, owner, key, size FROM text \(transaction.indexHint("text_owner"))")
        { row in
            guard let counted = try Self.counted(row) else { return }
            body(counted, try row.required("key", as: Int64.self) == key)
        }
    }

    /// Returns the number of texts that another key has sealed.
    func count(notSealedBy key: Int64) throws -> Int {
        let count = try transaction.integer(
            sql: "SELECT count(*) FROM text \(transaction.indexHint("text_owner")) WHERE key <> ?", arguments: [key])
        return Int(count ?? 0)
    }

    private static func counted(_ row: SQLRow) throws -> Counted? {
        guard let id = SecureID(try row.required("id", as: Int64.self)),
            let owner = UserName(canonical: try row.required("owner", as: String.self))
        else { return nil }
        return Counted(
            place: SecureTextReservation.Place(id: id, owner: owner), bytes: try row.required("size", as: Int.self))
    }
}
