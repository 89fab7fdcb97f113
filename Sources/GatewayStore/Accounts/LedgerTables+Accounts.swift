internal import GatewayCore
internal import GatewaySupport

/// Statements on the `account` table, and on the registrations that accounts made.
extension LedgerTables {
    /// Returns the stored fingerprints of the authenticator's accounts.
    func accounts(of authenticator: PluginName) throws -> [UserName: AccountFingerprint] {
        var accounts: [UserName: AccountFingerprint] = [:]
        try forEachRow(
            sql: #"SELECT "user", mark FROM account WHERE authenticator = ?"#, arguments: [authenticator.text]
        ) { row in
            accounts[try Self.user(row)] = AccountFingerprint(try row.required("mark", as: [UInt8].self))
        }
        return accounts
    }

    /// Inserts or updates the fingerprint of an account. An existing row keeps its `since` time: a new password does
    /// not start a new account.
    func storeAccount(
        _ user: UserName, _ fingerprint: AccountFingerprint, of authenticator: PluginName, now: WallTime
    ) throws {
        try execute(
            sql: """
                INSERT INTO account (authenticator, "user", mark, since) VALUES (?, ?, ?, ?)
                ON CONFLICT (authenticator, "user") DO UPDATE SET mark = excluded.mark
                """,
            arguments: [authenticator.text, user.text, fingerprint.bytes, now.microseconds])
    }

    /// Returns the time since which the user's account exists: the latest of the user's rows; nil without a row.
    func accountStart(of user: UserName) throws -> WallTime? {
        try integer(sql: Self.accountStart, arguments: [user.text]).map(WallTime.init(microseconds:))
    }

    /// Runs on requests of users, so its cost must not grow with the number of accounts.
    static let accountStart = #"SELECT max(since) FROM account WHERE "user" = ?"#

    /// Returns the accounts that made a live registration, or that have an update attempt of unknown outcome.
    func registeringAccounts() throws -> [Account] {
        var accounts: Set<Account> = []
        for question in [Self.registeringAccounts, Self.attemptingAccounts] {
            try forEachRow(sql: question) { row in
                accounts.insert(
                    Account(
                        user: try Self.user(row), login: LoginName(try row.required("login", as: String.self)),
                        authenticator: PluginName(try row.required("authenticator", as: String.self))))
            }
        }
        return Array(accounts)
    }

    private static let attemptingAccounts = """
        SELECT DISTINCT authenticator, "user", login FROM update_attempt WHERE login IS NOT NULL
        """

    static let registeringAccounts = """
        SELECT DISTINCT authenticator, owner AS "user", login FROM registration
        WHERE state = 'live' AND login IS NOT NULL
        """

    /// Returns the number of live registrations that accounts of each authenticator made.
    func registrationCounts() throws -> [PluginName: Int] {
        var counts: [PluginName: Int] = [:]
        try forEachRow(
            sql: """
                SELECT authenticator, count(*) AS number FROM registration
                WHERE state = 'live' AND login IS NOT NULL AND authenticator IS NOT NULL GROUP BY authenticator
                """
        ) { row in
            let name = PluginName(try row.required("authenticator", as: String.self))
            counts[name] = Int(try row.required("number", as: Int64.self))
        }
        return counts
    }

    /// Marks for deletion the live registrations that accounts of the authenticator made and that were last seen at
    /// `time` or earlier.
    func markRegistrationsForDeletion(of authenticator: PluginName, notSeenSince time: WallTime) throws -> Int {
        let renewedLast = try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE authenticator = ? AND login IS NOT NULL AND state = 'live' AND last_seen <= ?
                """,
            arguments: [SweepReason.loginTooOld.rawValue, authenticator.text, time.microseconds])
        // Includes registrations of other accounts with an update attempt by such a login whose outcome is unknown.
        let attempted = try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE id IN (SELECT registration FROM update_attempt WHERE authenticator = ? AND at <= ?)
                    AND state = 'live'
                """,
            arguments: [SweepReason.loginTooOld.rawValue, authenticator.text, time.microseconds])
        return renewedLast + attempted
    }

    /// Removes one account of the authenticator.
    func removeAccount(_ user: UserName, of authenticator: PluginName) throws {
        try execute(
            sql: #"DELETE FROM account WHERE authenticator = ? AND "user" = ?"#,
            arguments: [authenticator.text, user.text])
    }

    /// Removes the accounts of all other authenticators.
    func keepAccounts(of authenticators: Set<PluginName>) throws {
        for row in try rows(sql: "SELECT DISTINCT authenticator FROM account") {
            let name = try row.required("authenticator", as: String.self)
            if authenticators.contains(PluginName(name)) { continue }
            try execute(sql: "DELETE FROM account WHERE authenticator = ?", arguments: [name])
        }
    }
}
