internal import GRDB
public import GatewayCore

extension SQLiteLedger {
    /// What the user owns, reservations left out, the one seen last first.
    public func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        try await read { tables in
            try Row.fetchAll(
                tables.database,
                sql: """
                    SELECT * FROM registration WHERE owner = ? AND state <> 'reserved'
                    ORDER BY last_seen DESC, id
                    """,
                arguments: [user.text]
            ).map { try LedgerTables.Registration(row: $0).seenFromOutside }
        }
    }

    /// A page of everything in the ledger, reservations too, in the order of ids.
    ///
    /// - Parameters:
    ///   - after: the last id of the page before; nil for the first page.
    ///   - limit: how many at most; a page with fewer is the last.
    public func allRegistrations(
        after: RegistrationID? = nil, limit: Int = 1000
    ) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        try await read { tables in
            try Row.fetchAll(
                tables.database, sql: "SELECT * FROM registration WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [after?.text ?? "", max(0, limit)]
            ).map { try LedgerTables.Registration(row: $0).seenFromOutside }
        }
    }

    /// Copies the ledger as it stands to a new file, and its key to a file beside that: the one is of no use without the other.
    ///
    /// Both get mode 0600. Throws where one of them is there already.
    public func backup(to path: String) async throws(LedgerUnavailable) {
        let key = Self.keyFile(of: file)
        try await read { tables in
            guard let bytes = try PrivateFiles.read(key, atMost: 32) else {
                throw LedgerUnavailable("\(key) is missing")
            }
            try PrivateFiles.write(bytes, toNew: Self.keyFile(of: path))
            guard try PrivateFiles.makeFile(path) else { throw LedgerUnavailable("\(path) is there already") }
            let copy = try DatabaseQueue(path: path)
            try copy.writeWithoutTransaction { try tables.database.backup(to: $0) }
            try copy.close()
        }
    }
}
