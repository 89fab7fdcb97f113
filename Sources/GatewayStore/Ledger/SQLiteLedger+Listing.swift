internal import GRDB
public import GatewayCore

extension SQLiteLedger {
    /// What the user owns, reservations left out, the one seen last first.
    public func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        let day = Self.aDayAgo
        return try await readAtLength { tables in
            let rows = try Row.fetchAll(
                tables.database,
                sql: """
                    \(LedgerTables.selectRegistration) WHERE owner = ? AND state <> 'reserved'
                    ORDER BY last_seen DESC, id
                    """,
                arguments: [user.text])
            return try tables.seenFromOutside(rows, handOversAfter: day)
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
        let day = Self.aDayAgo
        return try await readAtLength { tables in
            let rows = try Row.fetchAll(
                tables.database, sql: "\(LedgerTables.selectRegistration) WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [after?.text ?? "", max(0, limit)])
            return try tables.seenFromOutside(rows, handOversAfter: day)
        }
    }

    /// Marks a registration to be deleted at the backend, whoever's it is; for operators.
    ///
    /// - Returns: whose it was; nil where there is none that is live.
    public func revoke(_ id: RegistrationID) async throws(LedgerUnavailable) -> UserName? {
        try await write { tables in
            guard let row = try tables.registration(id), try tables.doom(id, because: .revoked) else {
                return nil
            }
            return row.owner
        }.get()
    }

    /// Whose registration it is; nil where there is none that is live.
    public func owner(of id: RegistrationID) async throws(LedgerUnavailable) -> UserName? {
        try await read { try $0.registration(id).flatMap { $0.isLive ? $0.owner : nil } }
    }

    private static var aDayAgo: WallTime { Clocks.system.wall().adding(-handOverPeriod) }
}
