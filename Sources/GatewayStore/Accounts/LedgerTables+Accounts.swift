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
            accounts[try Self.user(row)] = AccountMark(Array(row["mark"] as Data))
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
        try Int64.fetchOne(database, sql: "SELECT MAX(since) FROM account WHERE user = ?", arguments: [user.text])
            .map(WallTime.init(microseconds:))
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
