public import GatewayCore
public import GatewaySupport

/// Statements on imported registrations that no device has confirmed.
///
/// The deadline counts only the time in which a gateway runs, because devices can register only then. A wrong clock
/// that is corrected later therefore deletes nothing.
extension LedgerTables {
    /// The longest time between two calls of ``countRunningTime(until:)`` while a gateway runs, in microseconds: 30
    /// minutes. A longer time means that no gateway ran or that the clock was set.
    static let maximumInterval: Int64 = 1_800_000_000

    /// Shifts the deadlines of unconfirmed registrations by the time since the last call if that time does not count:
    /// no gateway ran, or the clock was set.
    func countRunningTime(until now: WallTime) throws {
        if let last = try property("unconfirmed-until").flatMap(WallTime.init(rfc3339:)) {
            let pause = now.microseconds - last.microseconds
            if pause < 0 || pause > Self.maximumInterval {
                try execute(
                    sql: """
                        UPDATE registration SET import_unconfirmed = CASE
                            WHEN import_unconfirmed + ? < 0 THEN 0
                            WHEN import_unconfirmed + ? > ? THEN ?
                            ELSE import_unconfirmed + ? END
                        WHERE import_unconfirmed IS NOT NULL
                        """,
                    arguments: [pause, pause, now.microseconds, now.microseconds, pause])
            }
        }
        try store(property: "unconfirmed-until", "\(now)")
    }

    /// Marks for deletion the registrations that are unconfirmed for longer than the period.
    ///
    /// - Returns: The number of registrations marked.
    func expireUnconfirmed(after period: Int64, now: WallTime) throws -> Int {
        try countRunningTime(until: now)
        return try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE import_unconfirmed IS NOT NULL AND import_unconfirmed <= ? AND state = 'live'
                """,
            arguments: [SweepReason.unconfirmed.rawValue, now.adding(-period).microseconds])
    }

    /// Returns the number of unconfirmed registrations. Reads only their rows.
    func unconfirmedCount() throws -> Int {
        try count(
            sql: "SELECT count(*) FROM registration WHERE import_unconfirmed IS NOT NULL AND state = 'live'")
    }
}

extension StoredLedger {
    /// Marks for deletion the imported registrations whose time for confirmation has passed. Called every few minutes.
    ///
    /// - Returns: The number of registrations marked. Writes nothing if no registration is unconfirmed.
    public func expireUnconfirmed(now: WallTime) async throws(LedgerUnavailable) -> Int {
        guard try await read({ try $0.unconfirmedCount() }) > 0 else { return 0 }
        let period = Int64(limits.confirmation.components.seconds) * 1_000_000
        return try await write { try $0.expireUnconfirmed(after: period, now: now) }.get()
    }

    /// Returns the time at which an unconfirmed registration will be deleted, provided that the gateway runs until then
    /// and the device does not register. Nil for a confirmed one.
    public func confirmationEnd(_ registration: OwnedRegistration) -> WallTime? {
        registration.unconfirmedSince?.adding(Int64(limits.confirmation.components.seconds) * 1_000_000)
    }
}
