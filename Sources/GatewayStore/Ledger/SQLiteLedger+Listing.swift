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

    /// How many registrations a revocation of the user deletes: those that the user owns, reservations and ones of unknown outcome
    /// too, and those of others that an update of the user may have taken over.
    public func revocableRegistrations(of user: UserName) async throws(LedgerUnavailable) -> Int {
        try await readAtLength { tables in
            try Int.fetchOne(
                tables.database,
                sql: """
                    SELECT (SELECT count(*) FROM registration WHERE owner = :user AND state <> 'deleting')
                        + (SELECT count(*) FROM update_attempt JOIN registration ON id = registration
                            WHERE user = :user AND owner <> :user AND state <> 'deleting')
                    """,
                arguments: ["user": user.text]) ?? 0
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

    /// How many registrations are of a state.
    public struct RegistrationCount: Sendable, Hashable {
        /// A word of `OwnedRegistration.State`, or `unconfirmed` for live ones that an import bound and no device has confirmed.
        public let state: String
        /// How many.
        public let count: Int
    }

    /// Counts all registrations by state. Reads an index from end to end: for the background, now and then.
    public func registrationCounts() async throws(LedgerUnavailable) -> [RegistrationCount] {
        try await readAtLength { tables in
            let unconfirmed = try tables.unconfirmedCount()
            var counts: [String: Int] = [:]
            for row in try Row.fetchAll(
                tables.database, sql: "SELECT state, count(*) AS count FROM registration GROUP BY state")
            {
                counts[try row.required("state", as: String.self)] = try row.required("count", as: Int.self)
            }
            // Whether an outcome is unknown is no state of the row.
            var states = OwnedRegistration.State.allCases.filter { $0 != .unknown }.map {
                RegistrationCount(state: $0.rawValue, count: counts[$0.rawValue] ?? 0)
            }
            if let live = states.firstIndex(where: { $0.state == OwnedRegistration.State.live.rawValue }) {
                let count = max(0, states[live].count - unconfirmed)
                states[live] = RegistrationCount(state: states[live].state, count: count)
            }
            return states + [RegistrationCount(state: "unconfirmed", count: unconfirmed)]
        }
    }

    /// A number that is another after each change of the ledger.
    public var changes: UInt64 { health.commits }

    private static var aDayAgo: WallTime { Clocks.system.wall().adding(-handOverPeriod) }
}
