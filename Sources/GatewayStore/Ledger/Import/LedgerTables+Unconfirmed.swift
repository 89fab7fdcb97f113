internal import Foundation
internal import GRDB
public import GatewayCore

/// The statements about imported registrations that no device has confirmed yet.
///
/// Their time is counted while a gateway runs: while none does no device can register. So a clock that was set wrong deletes
/// nothing either, once it is set back.
extension LedgerTables {
    /// A longer pause between two counts is time in which no gateway ran, or a clock that was set.
    static let longestPause: Int64 = 1_800_000_000

    /// Counts the time since it was counted last, unless no gateway ran then.
    func countRunningTime(until now: WallTime) throws {
        if let last = try property("unconfirmed-until").flatMap(WallTime.init(rfc3339:)) {
            let pause = now.microseconds - last.microseconds
            if pause < 0 || pause > Self.longestPause {
                try execute(
                    sql: """
                        UPDATE registration SET import_unconfirmed = max(0, min(import_unconfirmed + ?, ?))
                        WHERE import_unconfirmed IS NOT NULL
                        """,
                    arguments: [pause, now.microseconds])
            }
        }
        try put(property: "unconfirmed-until", "\(now)")
    }

    /// Marks the registrations to be deleted that have been unconfirmed for longer.
    ///
    /// - Returns: how many.
    func expireUnconfirmed(after period: Int64, now: WallTime) throws -> Int {
        try countRunningTime(until: now)
        try execute(
            sql: """
                UPDATE registration SET state = 'deleting', reason = ?
                WHERE import_unconfirmed IS NOT NULL AND import_unconfirmed <= ? AND state = 'live'
                """,
            arguments: [SweepReason.unconfirmed.rawValue, now.adding(-period).microseconds])
        return database.changesCount
    }

    /// How many registrations are unconfirmed. Looks at those alone.
    func unconfirmedCount() throws -> Int {
        // A ledger of an earlier version, which is only read here.
        guard try LedgerSchema.version(of: database) >= 5 else { return 0 }
        return try count(
            sql: "SELECT count(*) FROM registration WHERE import_unconfirmed IS NOT NULL AND state = 'live'")
    }
}

extension SQLiteLedger {
    /// Has the imported registrations deleted that no device has confirmed in time; to be called every few minutes.
    ///
    /// - Returns: how many were marked. Where none is unconfirmed nothing is written.
    public func expireUnconfirmed(now: WallTime) async throws(LedgerUnavailable) -> Int {
        guard try await read({ try $0.unconfirmedCount() }) > 0 else { return 0 }
        let period = Int64(limits.confirmation.components.seconds) * 1_000_000
        return try await write { try $0.expireUnconfirmed(after: period, now: now) }.get()
    }

    /// When an unconfirmed registration is deleted, if the gateway runs until then and its device does not register.
    public func confirmationEnd(_ registration: OwnedRegistration) -> WallTime? {
        registration.unconfirmedSince?.adding(Int64(limits.confirmation.components.seconds) * 1_000_000)
    }
}
