internal import Foundation
internal import GRDB
internal import GatewayCore

/// The statements about accounts.
extension LedgerTables {
    func accounts(of authenticator: PluginName) throws -> [UserName: AccountMark] {
        var accounts: [UserName: AccountMark] = [:]
        let rows = try Row.fetchCursor(
            database, sql: "SELECT user, mark FROM account WHERE authenticator = ?", arguments: [authenticator.text])
        while let row = try rows.next() {
            accounts[try Self.user(row)] = AccountMark(Array(try row.required("mark", as: Data.self)))
        }
        return accounts
    }

    /// Notes an account. One that is there already keeps the time since when: it has another password, and the same life.
    func putAccount(_ user: UserName, _ mark: AccountMark, of authenticator: PluginName, now: WallTime) throws {
        try execute(
            sql: """
                INSERT INTO account (authenticator, user, mark, since) VALUES (?, ?, ?, ?)
                ON CONFLICT (authenticator, user) DO UPDATE SET mark = excluded.mark
                """,
            arguments: [authenticator.text, user.text, Data(mark.bytes), now.microseconds])
    }

    /// Since when the user's account is there; of several the youngest.
    func presentLife(of user: UserName) throws -> WallTime? {
        try Int64.fetchOne(database, sql: Self.presentLife, arguments: [user.text]).map(WallTime.init(microseconds:))
    }

    /// Asked by users themselves, so that it must cost the same however many there are.
    static let presentLife = "SELECT MAX(since) FROM account WHERE user = ?"

    /// The accounts by which live registrations were made, or may have been.
    func registeringAccounts() throws -> [Account] {
        var accounts: Set<Account> = []
        for question in [Self.registeringAccounts, Self.attemptingAccounts] {
            let rows = try Row.fetchCursor(database, sql: question)
            while let row = try rows.next() {
                accounts.insert(
                    Account(
                        user: try Self.user(row), login: LoginName(try row.required("login", as: String.self)),
                        authenticator: PluginName(try row.required("authenticator", as: String.self))))
            }
        }
        return Array(accounts)
    }

    private static let attemptingAccounts = """
        SELECT DISTINCT authenticator, user, login FROM update_attempt WHERE login IS NOT NULL
        """

    static let registeringAccounts = """
        SELECT DISTINCT authenticator, owner AS user, login FROM registration
        WHERE state = 'live' AND login IS NOT NULL
        """

    /// Marks the live registrations that were made by accounts of the authenticator and not seen since the time.
    func doomRegistrations(of authenticator: PluginName, notSeenSince time: WallTime) throws -> Int {
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE authenticator = ? AND login IS NOT NULL AND state = 'live' AND last_seen <= ?
                """,
            arguments: [SweepReason.loginTooOld.rawValue, authenticator.text, time.microseconds])
        let renewedLast = database.changesCount
        // Also another's, where an update by such a login has an unknown outcome.
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE id IN (SELECT registration FROM update_attempt WHERE authenticator = ? AND at <= ?)
                    AND state = 'live'
                """,
            arguments: [SweepReason.loginTooOld.rawValue, authenticator.text, time.microseconds])
        return renewedLast + database.changesCount
    }

    func removeAccount(_ user: UserName, of authenticator: PluginName) throws {
        try execute(
            sql: "DELETE FROM account WHERE authenticator = ? AND user = ?",
            arguments: [authenticator.text, user.text])
    }

    func keepAccounts(of authenticators: Set<PluginName>) throws {
        for name in try String.fetchAll(database, sql: "SELECT DISTINCT authenticator FROM account")
        where !authenticators.contains(PluginName(name)) {
            try execute(sql: "DELETE FROM account WHERE authenticator = ?", arguments: [name])
        }
    }
}
