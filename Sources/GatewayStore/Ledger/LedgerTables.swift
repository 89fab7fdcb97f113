internal import Foundation
internal import GRDB
internal import GatewayCore

/// The ledger's statements, each in the words of the ledger. Lives no longer than the database access that it is made in.
struct LedgerTables {
    /// A row of `registration`.
    struct Registration {
        var id: RegistrationID
        var owner: UserName
        /// The account by which its owner was let in, where that is looked at from time to time.
        var account: Account?
        var handle: HandleKey?
        var state: OwnedRegistration.State
        var created: WallTime
        var lastSeen: WallTime
        /// Why it is to be deleted; nil for one that is not.
        var reason: SweepReason?
        /// Since when the backend has not confirmed that it deleted it; nil where nobody has tried in vain.
        var undeleted: WallTime?
        /// Since when it is imported and unconfirmed, counted in time that the gateway runs; nil for a registration that its owner's
        /// device has made.
        var importUnconfirmed: WallTime?
        /// Whether there is an update of it whose outcome is not known.
        var isInDoubt = false

        /// Whether its handle leads here: true for all but reservations.
        var isBound: Bool { state != .reserved }

        /// Whether it is registered, and not to be deleted.
        var isLive: Bool { state == .live }
    }

    let database: Database

    init(_ database: Database) { self.database = database }

    /// Begins a question for rows that `Registration` reads.
    static let selectRegistration = """
        SELECT registration.*, EXISTS (
            SELECT 1 FROM update_attempt WHERE update_attempt.registration = registration.id) AS in_doubt
        FROM registration
        """

    /// Carries out a statement. Each is compiled once a connection to the database: that costs more than to carry it out.
    func execute(sql: String, arguments: StatementArguments = StatementArguments()) throws {
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// The first row that a statement finds, if any.
    func firstRow(sql: String, arguments: StatementArguments = StatementArguments()) throws -> Row? {
        try Row.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
    }

    /// The number that a statement of one row and one column gives.
    func count(sql: String, arguments: StatementArguments = StatementArguments()) throws -> Int {
        try Int.fetchOne(database.cachedStatement(sql: sql), arguments: arguments) ?? 0
    }

    func registration(_ id: RegistrationID) throws -> Registration? {
        try firstRow(sql: "\(Self.selectRegistration) WHERE id = ?", arguments: [id.text])
            .map(Registration.init(row:))
    }

    /// The registration that the handle leads to, if any.
    func registration(boundTo handle: HandleKey) throws -> Registration? {
        try firstRow(
            sql: "\(Self.selectRegistration) WHERE service = ? AND handle = ? AND state <> 'reserved'",
            arguments: [handle.service.rawValue, Data(handle.digest.bytes)]
        ).map(Registration.init(row:))
    }

    /// The registration that the label means to the user, whoever owns it: the one remembered for it, else the one of that id.
    func meaning(of label: RegistrationID, to user: UserName) throws -> Registration? {
        let remembered = try firstRow(
            sql: """
                \(Self.selectRegistration)
                WHERE id = (SELECT registration FROM label WHERE label.user = ? AND label.label = ?)
                """,
            arguments: [user.text, label.text])
        return try remembered.map(Registration.init(row:)) ?? registration(label)
    }

    func put(_ row: Registration) throws {
        try execute(
            sql: """
                INSERT INTO registration
                    (id, owner, login, authenticator, service, handle, state, created, last_seen, reason, undeleted,
                    import_unconfirmed)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, login = excluded.login,
                    authenticator = excluded.authenticator, service = excluded.service,
                    handle = excluded.handle, state = excluded.state, created = excluded.created,
                    last_seen = excluded.last_seen, reason = excluded.reason, undeleted = excluded.undeleted,
                    import_unconfirmed = excluded.import_unconfirmed
                """,
            arguments: [
                row.id.text, row.owner.text, row.account?.login.text, row.account?.authenticator.text,
                row.handle?.service.rawValue, row.handle.map { Data($0.digest.bytes) }, row.state.rawValue,
                row.created.microseconds, row.lastSeen.microseconds, row.reason?.rawValue,
                row.undeleted?.microseconds, row.importUnconfirmed?.microseconds,
            ])
        // What is registered anew is as sound as any.
        if row.isBound { try removeStray(row.id) }
        try forgetLabel(row.id, of: row.owner)
    }

    /// Notes that a bound registration was seen, and nothing else of it. The whole row would be written to its indexes too, and
    /// where there are many registrations no two share a page of those.
    func seen(_ row: Registration, _ now: WallTime) throws {
        try execute(
            sql: "UPDATE registration SET last_seen = ? WHERE id = ?", arguments: [now.microseconds, row.id.text])
        try forgetLabel(row.id, of: row.owner)
    }

    /// Notes that a user's device came again with just what the ledger has of it, by one statement: this is by far the most
    /// frequent change.
    ///
    /// - Returns: whether it had it so, and live. Not so for an unconfirmed one, which is written anew and thereby confirmed.
    func seenAgain(
        _ id: RegistrationID, of owner: UserName, by account: Account?, _ handle: HandleKey, _ now: WallTime
    ) throws -> Bool {
        try execute(
            sql: """
                UPDATE registration SET last_seen = ?
                WHERE id = ? AND owner = ? AND login IS ? AND authenticator IS ? AND service = ? AND handle = ?
                    AND state = 'live' AND import_unconfirmed IS NULL
                    AND NOT EXISTS (SELECT 1 FROM update_attempt WHERE update_attempt.registration = registration.id)
                """,
            arguments: [
                now.microseconds, id.text, owner.text, account?.login.text, account?.authenticator.text,
                handle.service.rawValue, Data(handle.digest.bytes),
            ])
        guard database.changesCount > 0 else { return false }
        try forgetLabel(id, of: owner)
        return true
    }

    /// An id means itself to its owner; what was remembered for it otherwise is over.
    private func forgetLabel(_ id: RegistrationID, of owner: UserName) throws {
        try execute(sql: "DELETE FROM label WHERE user = ? AND label = ?", arguments: [owner.text, id.text])
    }

    /// Takes the row away, and with it the labels that mean it.
    func remove(_ id: RegistrationID) throws {
        try execute(sql: "DELETE FROM registration WHERE id = ?", arguments: [id.text])
    }

    /// Takes the row away; the labels that meant it, and its id for its owner, mean the other from now on.
    func remove(_ old: Registration, inFavourOf new: RegistrationID, now: WallTime) throws {
        try execute(
            sql: "UPDATE label SET registration = ? WHERE registration = ?", arguments: [new.text, old.id.text])
        try remove(old.id)
        try remember(old.id, of: old.owner, as: new, now: now)
    }

    /// From now on the label means the registration to the user.
    func remember(_ label: RegistrationID, of user: UserName, as registration: RegistrationID, now: WallTime) throws {
        try execute(
            sql: """
                INSERT INTO label (user, label, registration, used) VALUES (?, ?, ?, ?)
                ON CONFLICT (user, label) DO UPDATE SET registration = excluded.registration, used = excluded.used
                """,
            arguments: [user.text, label.text, registration.text, now.microseconds])
    }

    /// The rows, as those outside the ledger may see them, with the hand-overs after the time.
    func seenFromOutside(_ rows: [Row], handOversAfter time: WallTime) throws -> [OwnedRegistration] {
        try rows.map { row in
            let row = try Registration(row: row)
            return OwnedRegistration(
                id: row.id, owner: row.owner, service: row.handle?.service,
                state: row.isLive && row.isInDoubt ? .unknown : row.state, created: row.created,
                lastSeen: row.lastSeen, handOvers: try row.handle.map { try handOvers(of: $0, after: time) } ?? 0,
                unconfirmedSince: row.importUnconfirmed)
        }
    }

    /// Keeps the user's newest reservations and drops the others.
    func keepReservations(_ count: Int, of user: UserName) throws {
        try execute(
            sql: """
                DELETE FROM registration WHERE rowid IN (
                    SELECT rowid FROM registration WHERE owner = ? AND state = 'reserved'
                    ORDER BY last_seen DESC, rowid DESC LIMIT -1 OFFSET ?)
                """,
            arguments: [user.text, count])
    }

    /// Keeps the labels that the user used last and drops the others.
    func keepLabels(_ count: Int, of user: UserName) throws {
        try execute(
            sql: """
                DELETE FROM label WHERE rowid IN (
                    SELECT rowid FROM label WHERE user = ? ORDER BY used DESC, rowid DESC LIMIT -1 OFFSET ?)
                """,
            arguments: [user.text, count])
    }
}

extension LedgerTables.Registration {
    /// Reads a row; one that the ledger cannot have written is an error and not a guess.
    init(row: Row) throws {
        guard let id = RegistrationID(try row.required("id", as: String.self)),
            let owner = UserName(canonical: try row.required("owner", as: String.self)),
            let state = OwnedRegistration.State(rawValue: try row.required("state", as: String.self)), state != .unknown
        else { throw LedgerUnavailable("the ledger holds a row that it did not write") }
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
        isInDoubt = try row.required("in_doubt", as: Bool.self)
    }
}

extension HandleKey {
    /// The key in the columns `service` and `handle`; nil where both are NULL.
    init?(row: Row) throws(LedgerUnavailable) {
        guard let service = try row.optional("service", as: String.self),
            let digest = try row.optional("handle", as: Data.self)
        else { return nil }
        guard let service = PushService(rawValue: service), let digest = KeyedDigest(Array(digest)) else {
            throw LedgerUnavailable("the ledger holds a handle that it did not write")
        }
        self.init(service: service, digest: digest)
    }
}
