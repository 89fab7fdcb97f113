internal import GatewayCore
internal import GatewaySupport

/// The ledger's SQL statements. Valid only during the database access that created it.
struct LedgerTables: DatabaseTables {
    /// A row of the table `registration`.
    struct Registration {
        var id: RegistrationID
        var owner: UserName
        /// The account whose login made the registration; nil if its authenticator's accounts are not rechecked.
        var account: Account?
        var handle: HandleKey?
        var state: OwnedRegistration.State
        var created: WallTime
        var lastSeen: WallTime
        /// The reason for the deletion; nil if the registration is not marked.
        var reason: SweepReason?
        /// The time since which the backend has not confirmed the deletion; nil without an unconfirmed attempt.
        var undeleted: WallTime?
        /// The time since which an imported registration is unconfirmed, counting only time in which a gateway runs.
        /// Nil for a registration made by its owner's device.
        var importUnconfirmed: WallTime?
        /// The upstream at which it was made; nil if that is not known.
        var upstream: UpstreamName?
        /// Whether an update of it has an unknown outcome.
        var isInDoubt = false

        /// Whether a handle is bound to it: true except for reservations.
        var isBound: Bool { state != .reserved }

        /// Whether it is registered and not marked for deletion.
        var isLive: Bool { state == .live }

        /// Whether a deletion that the backend has not confirmed may still remove what is registered under its id.
        var mayBeDeletedLate: Bool { state == .deleting && undeleted != nil }

        /// Its push service and upstream.
        var place: RegistrationPlace { RegistrationPlace(service: handle?.service, upstream: upstream) }
    }

    private let transaction: any SQLTransaction

    init(_ transaction: any SQLTransaction) { self.transaction = transaction }

    /// The start of a query for rows that `Registration` can decode.
    static let selectRegistration = """
        SELECT registration.*, CASE WHEN EXISTS (
            SELECT 1 FROM update_attempt WHERE update_attempt.registration = registration.id) THEN 1 ELSE 0 END AS in_doubt
        FROM registration
        """

    /// The name of this gateway among those that use the database; nil for a database with one user.
    var node: String? { transaction.node }

    /// Executes a statement that returns no rows.
    ///
    /// - Returns: The number of rows that it inserted, updated or deleted.
    @discardableResult
    func execute(sql: String, arguments: SQLArguments = []) throws -> Int {
        try transaction.execute(sql: sql, arguments: arguments)
    }

    /// Calls the body with each row of the result, in order. The body must not execute statements.
    func forEachRow(sql: String, arguments: SQLArguments = [], _ body: (SQLRow) throws -> Void) throws {
        try transaction.forEachRow(sql: sql, arguments: arguments, body)
    }

    /// Returns all rows of the result.
    func rows(sql: String, arguments: SQLArguments = []) throws -> [SQLRow] {
        try transaction.rows(sql: sql, arguments: arguments)
    }

    /// Returns the first row of the result, if any.
    func firstRow(sql: String, arguments: SQLArguments = []) throws -> SQLRow? {
        try transaction.firstRow(sql: sql, arguments: arguments)
    }

    /// Returns the integer in the first column of the first row; nil without a row, and for NULL.
    func integer(sql: String, arguments: SQLArguments = []) throws -> Int64? {
        try transaction.integer(sql: sql, arguments: arguments)
    }

    /// Returns the integer result of a statement with one row and one column.
    func count(sql: String, arguments: SQLArguments = []) throws -> Int {
        try Int(integer(sql: sql, arguments: arguments) ?? 0)
    }

    /// Returns the registration with the id, if any.
    func registration(_ id: RegistrationID) throws -> Registration? {
        try firstRow(sql: "\(Self.selectRegistration) WHERE id = ?", arguments: [id.text])
            .map(Registration.init(row:))
    }

    /// Returns the registration that the handle is bound to, if any.
    func registration(boundTo handle: HandleKey) throws -> Registration? {
        try firstRow(
            sql: "\(Self.selectRegistration) WHERE service = ? AND handle = ? AND state <> 'reserved'",
            arguments: [handle.service.rawValue, handle.digest.bytes]
        ).map(Registration.init(row:))
    }

    /// Returns the registration that the label stands for in the user's requests, regardless of its owner: the one
    /// stored for the label, or else the registration with that id.
    func registration(labelled label: RegistrationID, to user: UserName) throws -> Registration? {
        let remembered = try firstRow(
            sql: """
                \(Self.selectRegistration)
                WHERE id = (SELECT label.registration FROM label WHERE label."user" = ? AND label.label = ?)
                """,
            arguments: [user.text, label.text])
        return try remembered.map(Registration.init(row:)) ?? registration(label)
    }

    /// Inserts or replaces a registration.
    func store(_ row: Registration) throws {
        try execute(
            sql: """
                INSERT INTO registration
                    (id, owner, login, authenticator, service, handle, state, created, last_seen, reason, undeleted,
                    import_unconfirmed, upstream)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, login = excluded.login,
                    authenticator = excluded.authenticator, service = excluded.service,
                    handle = excluded.handle, state = excluded.state, created = excluded.created,
                    last_seen = excluded.last_seen, reason = excluded.reason, undeleted = excluded.undeleted,
                    import_unconfirmed = excluded.import_unconfirmed, upstream = excluded.upstream
                """,
            arguments: [
                row.id.text, row.owner.text, row.account?.login.text, row.account?.authenticator.text,
                row.handle?.service.rawValue, row.handle.map { $0.digest.bytes }, row.state.rawValue,
                row.created.microseconds, row.lastSeen.microseconds, row.reason?.rawValue,
                row.undeleted?.microseconds, row.importUnconfirmed?.microseconds, row.upstream?.text,
            ])
        // A registration that was made again has an owner.
        if row.isBound { try removeOrphan(row.id) }
        try removeLabel(row.id, of: row.owner)
    }

    /// Updates only the time at which a bound registration was last seen. Writing the whole row would also write its
    /// indexes, and with many registrations each index entry lies on a different page.
    func updateLastSeen(_ row: Registration, _ now: WallTime) throws {
        try execute(
            sql: "UPDATE registration SET last_seen = ? WHERE id = ?", arguments: [now.microseconds, row.id.text])
        try removeLabel(row.id, of: row.owner)
    }

    /// Returns whether the label is stored for the user. It then stands for the stored registration even if a
    /// registration has it as its id.
    func hasLabel(_ label: RegistrationID, of user: UserName) throws -> Bool {
        try firstRow(
            sql: #"SELECT 1 FROM label WHERE label."user" = ? AND label.label = ?"#,
            arguments: [user.text, label.text]) != nil
    }

    /// Removes the owner's label that equals the id of the registration, because the id now stands for the
    /// registration.
    func removeLabel(_ id: RegistrationID, of owner: UserName) throws {
        try execute(
            sql: #"DELETE FROM label WHERE label."user" = ? AND label.label = ?"#, arguments: [owner.text, id.text])
    }

    /// Removes the row and the labels that refer to it.
    func remove(_ id: RegistrationID) throws {
        try execute(sql: "DELETE FROM registration WHERE id = ?", arguments: [id.text])
    }

    /// Removes the row. Its labels, and its id in its owner's requests, then stand for `new`.
    func remove(_ old: Registration, replacedBy new: RegistrationID, now: WallTime) throws {
        try execute(
            sql: "UPDATE label SET registration = ? WHERE registration = ?", arguments: [new.text, old.id.text])
        try remove(old.id)
        try storeLabel(old.id, of: old.owner, as: new, now: now)
    }

    /// Stores that the label stands for the registration in the user's requests.
    func storeLabel(_ label: RegistrationID, of user: UserName, as registration: RegistrationID, now: WallTime) throws {
        try execute(
            sql: """
                INSERT INTO label ("user", label, registration, used) VALUES (?, ?, ?, ?)
                ON CONFLICT ("user", label) DO UPDATE SET registration = excluded.registration, used = excluded.used
                """,
            arguments: [user.text, label.text, registration.text, now.microseconds])
    }

    /// Converts rows to the public type, with the number of transfers after the time.
    func publicRegistrations(_ rows: [SQLRow], transfersAfter time: WallTime) throws -> [OwnedRegistration] {
        try rows.map { row in
            let row = try Registration(row: row)
            return OwnedRegistration(
                id: row.id, owner: row.owner, service: row.handle?.service,
                state: row.isLive && row.isInDoubt ? .unknown : row.state, created: row.created,
                lastSeen: row.lastSeen,
                ownershipTransfers: try row.handle.map { try ownershipTransferCount(of: $0, after: time) } ?? 0,
                unconfirmedSince: row.importUnconfirmed, upstream: row.upstream)
        }
    }

    /// Removes all but the user's `count` newest reservations.
    func limitReservations(_ count: Int, of user: UserName) throws {
        try execute(
            sql: """
                DELETE FROM registration WHERE id IN (
                    SELECT id FROM registration WHERE owner = ? AND state = 'reserved'
                    ORDER BY last_seen DESC, created DESC, id DESC LIMIT \(Self.unlimited) OFFSET ?)
                """,
            arguments: [user.text, count])
    }

    /// Removes all but the user's `count` most recently used labels.
    func limitLabels(_ count: Int, of user: UserName) throws {
        try execute(
            sql: """
                DELETE FROM label WHERE label."user" = ? AND label.label IN (
                    SELECT kept.label FROM label AS kept WHERE kept."user" = ?
                    ORDER BY kept.used DESC, kept.label DESC LIMIT \(Self.unlimited) OFFSET ?)
                """,
            arguments: [user.text, user.text, count])
    }

    /// A limit of rows that none reaches, because SQLite has no OFFSET without LIMIT.
    static let unlimited = Int64.max
}

extension LedgerTables.Registration {
    /// Decodes a row. Throws on values that the ledger never writes.
    init(row: SQLRow) throws {
        guard let id = RegistrationID(try row.required("id", as: String.self)),
            let owner = UserName(canonical: try row.required("owner", as: String.self)),
            let state = OwnedRegistration.State(rawValue: try row.required("state", as: String.self)), state != .unknown
        else { throw LedgerUnavailable("the ledger contains an invalid registration") }
        self.id = id
        self.owner = owner
        self.state = state
        if let login = try row.optional("login", as: String.self),
            let authenticator = try row.optional("authenticator", as: String.self)
        {
            account = Account(user: owner, login: LoginName(login), authenticator: PluginName(authenticator))
        }
        handle = try HandleKey(row: row)
        created = try row.time("created")
        lastSeen = try row.time("last_seen")
        reason = try row.optional("reason", as: String.self).flatMap(SweepReason.init)
        undeleted = try row.optionalTime("undeleted")
        importUnconfirmed = try row.optionalTime("import_unconfirmed")
        upstream = try row.optional("upstream", as: String.self).map(UpstreamName.init)
        isInDoubt = try row.required("in_doubt", as: Bool.self)
    }
}
