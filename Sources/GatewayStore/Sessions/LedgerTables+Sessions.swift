internal import GatewayCore
internal import GatewaySupport

/// Statements on sessions and revocations.
extension LedgerTables {
    /// Returns all sessions and revocations that are valid at the time.
    func sessionTable(at now: WallTime) throws -> SessionTable {
        var table = SessionTable()
        try forEachRow(sql: #"SELECT "user", at FROM revoked_user"#) { row in
            table.revoke(try Self.user(row), at: try row.time("at"))
        }
        try forEachRow(sql: #"SELECT "user", token, until FROM revoked_token"#) { row in
            // A revocation whose end cannot be read never expires, because an error would keep the gateway from
            // starting.
            let until = (try? row.time("until")) ?? WallTime(microseconds: .max)
            table.revoke(token: try row.required("token", as: String.self), of: try Self.user(row), until: until)
        }
        for logout in try providerLogouts() { table.restore(logout) }
        try forEachRow(sql: "SELECT * FROM session") { row in
            // A row is a session that has not ended: whatever ends a session removes its row. Times are not compared with
            // those of revocations and logouts, because clocks differ and jump.
            let session = try Session(row: row)
            table.replace(session.id, by: session)
        }
        table.removeExpired(at: now)
        return table
    }

    /// Inserts a session, and removes those of its user that it replaces. Throws if a session with its id exists.
    ///
    /// - Returns: The sessions that it replaced.
    func store(_ session: Session, limit: Int) throws -> [Session] {
        var others: [Session] = []
        try forEachRow(sql: #"SELECT * FROM session WHERE "user" = ?"#, arguments: [session.user.text]) { row in
            others.append(try Session(row: row))
        }
        let replaced = session.replaced(among: others, limit: limit)
        try removeSessions(replaced.map { ($0.id, $0.user) })
        try execute(
            sql: """
                INSERT INTO session
                    (id, "user", login, authenticator, device, began, ends, renewed, issuer, provider_session)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                session.id.text, session.user.text, session.login.text, session.authenticator.text,
                session.device?.text, session.began.microseconds, session.ends.microseconds,
                session.renewed.microseconds, session.provider?.issuer, session.provider?.session,
            ])
        try announce(session.id, of: session.user)
        return replaced
    }

    /// Stores the time of a session's renewal. Returns false if there is no such session.
    func renewSession(_ id: SessionID, of user: UserName, at now: WallTime) throws -> Bool {
        let renewed = try execute(
            sql: "UPDATE session SET renewed = ? WHERE id = ?", arguments: [now.microseconds, id.text])
        if renewed > 0 { try announce(id, of: user) }
        return renewed > 0
    }

    /// Removes the sessions with these ids, each of its user, as far as they exist.
    func removeSessions(_ sessions: some Sequence<(SessionID, UserName)>) throws {
        for (id, user) in sessions {
            let removed = try execute(sql: "DELETE FROM session WHERE id = ?", arguments: [id.text])
            if removed > 0 { try announce(id, of: user) }
        }
    }

    /// Stores the revocation of a token. Clamps `until` to the range that the next start can read.
    func revoke(token id: String, of user: UserName, until: WallTime) throws {
        let until = min(max(0, until.microseconds), SQLRow.maximumTime)
        try execute(
            sql: """
                INSERT INTO revoked_token ("user", token, until) VALUES (?, ?, ?)
                ON CONFLICT ("user", token) DO UPDATE SET until = CASE
                    WHEN revoked_token.until < excluded.until THEN excluded.until ELSE revoked_token.until END
                """,
            arguments: [user.text, id, until])
        try announce(.token, user: user.text, subject: id, time: WallTime(microseconds: until))
    }

    /// Revokes all access of the user: removes sessions, invalidates tokens, and marks registrations for deletion at
    /// the backend. This includes reservations, and other users' registrations that this user tried to update with an
    /// unknown outcome: at the backend, each of them may belong to this user.
    func revoke(_ user: UserName, at now: WallTime) throws {
        try execute(
            sql: """
                INSERT INTO revoked_user ("user", at) VALUES (?, ?)
                ON CONFLICT ("user") DO UPDATE SET at = CASE
                    WHEN revoked_user.at < excluded.at THEN excluded.at ELSE revoked_user.at END
                """,
            arguments: [user.text, now.microseconds])
        for statement in [
            #"DELETE FROM session WHERE "user" = ?"#,
            #"DELETE FROM label WHERE "user" = ?"#,
            """
            INSERT INTO stray (id, service, handle, reason, owner)
                SELECT id, service, handle, 'revoked', owner FROM registration WHERE owner = ? AND state = 'reserved'
                ON CONFLICT (id) DO NOTHING
            """,
            "DELETE FROM registration WHERE owner = ? AND state = 'reserved'",
            // Registrations that are marked for another reason now go with the others of the user, before those that can wait.
            """
            UPDATE registration SET state = 'deleting', reason = 'revoked'
                WHERE owner = ? AND (state = 'live' OR (state = 'deleting' AND reason <> 'revoked'))
            """,
            """
            UPDATE registration SET state = 'deleting', reason = 'revoked'
                WHERE id IN (SELECT registration FROM update_attempt WHERE "user" = ?) AND state = 'live'
            """,
            "UPDATE hand_over SET former = NULL WHERE former = ?",
        ] {
            try execute(sql: statement, arguments: [user.text])
        }
        try announce(.user, user: user.text, time: now)
    }

    /// Revokes what the user was granted until a time in the past: everything, unless the user has come back since. Then
    /// it removes sessions that began until then, and marks registrations that were not seen since.
    func revokeGrants(of user: UserName, upTo time: WallTime) throws {
        let later = try firstRow(
            sql: """
                SELECT 1 AS found FROM session WHERE "user" = ? AND began > ?
                UNION ALL SELECT 1 FROM registration WHERE owner = ? AND last_seen > ? LIMIT 1
                """,
            arguments: [user.text, time.microseconds, user.text, time.microseconds])
        if later == nil { return try revoke(user, at: time) }
        let rows = try rows(
            sql: #"SELECT id FROM session WHERE "user" = ? AND began <= ?"#, arguments: [user.text, time.microseconds])
        try removeSessions(rows.compactMap { SessionID(try $0.required("id", as: String.self)) }.map { ($0, user) })
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = 'revoked'
                    WHERE owner = ? AND state = 'live' AND last_seen <= ?
                """,
            arguments: [user.text, time.microseconds])
    }

    /// Removes the sessions and revocations that have expired by `now`.
    func removeSessions(before now: WallTime) throws {
        try execute(sql: "DELETE FROM session WHERE ends <= ?", arguments: [now.microseconds])
        try execute(
            sql: "DELETE FROM provider_logout WHERE at <= ?",
            arguments: [now.adding(-SessionTable.revocationLifetime * 1_000_000).microseconds])
        // A revocation with a negative end counts as unreadable and never expires.
        try execute(sql: "DELETE FROM revoked_token WHERE until BETWEEN 0 AND ?", arguments: [now.microseconds])
        try execute(
            sql: "DELETE FROM revoked_user WHERE at <= ?",
            arguments: [now.adding(-SessionTable.revocationLifetime * 1_000_000).microseconds])
    }

    /// Returns the last stored confirmed time (see ``ConfirmedTime``): the latest time that the wall clock was known to
    /// have reached; nil if none is stored.
    func confirmedTime() throws -> WallTime? {
        try property("agreed-time").flatMap { Int64($0) }.map(WallTime.init(microseconds:))
    }

    /// Stores the confirmed time for the next start.
    func storeConfirmedTime(_ time: WallTime) throws {
        try store(property: "agreed-time", String(time.microseconds))
    }

    /// Decodes the column `user`. Throws if it is not a user name.
    static func user(_ row: SQLRow) throws -> UserName {
        guard let user = UserName(canonical: try row.required("user", as: String.self)) else {
            throw LedgerUnavailable("the ledger contains an invalid user name")
        }
        return user
    }
}

extension Session {
    /// Decodes a row. Throws on values that the ledger never writes.
    init(row: SQLRow) throws {
        let device = try row.optional("device", as: String.self)
        guard let id = SessionID(try row.required("id", as: String.self)),
            device == nil || device.flatMap(DeviceLabel.init) != nil
        else {
            throw LedgerUnavailable("the ledger contains an invalid session")
        }
        self.init(
            id: id, user: try LedgerTables.user(row), login: LoginName(try row.required("login", as: String.self)),
            authenticator: PluginName(try row.required("authenticator", as: String.self)),
            device: device.flatMap(DeviceLabel.init),
            began: try row.time("began"), ends: try row.time("ends"), renewed: try row.time("renewed"),
            provider: try Self.provider(of: row))
    }

    /// Decodes the login at an identity provider, whose subject is the login name; nil if the session began with a
    /// password.
    private static func provider(of row: SQLRow) throws -> ProviderLogin? {
        guard let issuer = try row.optional("issuer", as: String.self) else { return nil }
        return ProviderLogin(
            issuer: issuer, subject: try row.required("login", as: String.self),
            session: try row.optional("provider_session", as: String.self))
    }
}
