public import GatewayCore
internal import GatewaySupport

extension StoredLedger {
    /// Returns the user's registrations without reservations, most recently seen first.
    public func registrations(of user: UserName) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        let day = Self.aDayAgo
        await writeRenewals()
        return try await readAtLength { tables in
            let rows = try tables.rows(
                sql: """
                    \(LedgerTables.selectRegistration) WHERE owner = ? AND state <> 'reserved'
                    ORDER BY last_seen DESC, id
                    """,
                arguments: [user.text])
            return try tables.publicRegistrations(rows, transfersAfter: day)
        }
    }

    /// Returns the number of registrations that a revocation of the user marks for deletion: the user's own, including
    /// reservations and those of unknown outcome, and other users' that an update by the user may have changed.
    public func revocableRegistrations(of user: UserName) async throws(LedgerUnavailable) -> Int {
        try await readAtLength { tables in
            try tables.count(
                sql: """
                    SELECT (SELECT count(*) FROM registration WHERE owner = ? AND state <> 'deleting')
                        + (SELECT count(*) FROM update_attempt
                            JOIN registration ON registration.id = update_attempt.registration
                            WHERE update_attempt."user" = ? AND owner <> ? AND state <> 'deleting')
                    """,
                arguments: [user.text, user.text, user.text])
        }
    }

    /// Returns a page of all registrations, including reservations, in the order of their ids.
    ///
    /// - Parameters:
    ///   - after: The last id of the previous page; nil for the first page.
    ///   - limit: The maximum number of registrations. A page with fewer is the last one.
    public func allRegistrations(
        after: RegistrationID? = nil, limit: Int = 1000
    ) async throws(LedgerUnavailable) -> [OwnedRegistration] {
        let day = Self.aDayAgo
        await writeRenewals()
        return try await readAtLength { tables in
            let rows = try tables.rows(
                sql: "\(LedgerTables.selectRegistration) WHERE id > ? ORDER BY id LIMIT ?",
                arguments: [after?.text ?? "", max(0, limit)])
            return try tables.publicRegistrations(rows, transfersAfter: day)
        }
    }

    /// Marks a registration of any owner for deletion at the backend. For operators.
    ///
    /// - Returns: The owner; nil without a live registration.
    public func revoke(_ id: RegistrationID) async throws(LedgerUnavailable) -> UserName? {
        try await write { tables in
            guard let row = try tables.registration(id), try tables.markForDeletion(id, because: .revoked) else {
                return nil
            }
            return row.owner
        }.get()
    }

    /// Returns the registration's owner; nil without a live registration.
    public func owner(of id: RegistrationID) async throws(LedgerUnavailable) -> UserName? {
        try await read { try $0.registration(id).flatMap { $0.isLive ? $0.owner : nil } }
    }

    /// The number of registrations in a state.
    public struct RegistrationCount: Sendable, Hashable {
        /// A value of `OwnedRegistration.State`, or `unconfirmed` for live registrations that an import bound and no
        /// device has confirmed.
        public let state: String
        /// The number of registrations.
        public let count: Int
    }

    /// Counts all registrations by state. Scans a whole index; intended for occasional use in the background.
    public func registrationCounts() async throws(LedgerUnavailable) -> [RegistrationCount] {
        try await readAtLength { tables in
            let unconfirmed = try tables.unconfirmedCount()
            var counts: [String: Int] = [:]
            try tables.forEachRow(sql: "SELECT state, count(*) AS number FROM registration GROUP BY state") { row in
                counts[try row.required("state", as: String.self)] = try row.required("number", as: Int.self)
            }
            // `unknown` is derived from update attempts and is never stored.
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

    /// A number that changes with each change of the ledger.
    public var changes: UInt64 { health.commits }

    private static var aDayAgo: WallTime { Clocks.system.wall().adding(-ownershipTransferPeriod) }
}
