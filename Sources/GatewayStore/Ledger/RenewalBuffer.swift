internal import Dispatch
internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The renewals whose time is not yet in the ledger's file.
///
/// A device that registers again with unchanged data renews its registration: only the time at which it was last seen
/// changes. These times are written together, a second after the first of them, or before any other change or listing.
/// A crash loses at most the times of the last second.
///
/// Safe to use from any thread.
final class RenewalBuffer: Sendable {
    /// A renewal of one registration.
    struct Renewal: Sendable, Hashable {
        let owner: UserName
        let time: WallTime
    }

    private struct State {
        var renewals: [RegistrationID: Renewal] = [:]
        /// The maximum number of an owner's registrations.
        var limit = Int.max
        var isScheduled = false
    }

    private let state = Mutex(State())
    private let commits: GroupCommit<LedgerTables>

    /// Creates an empty buffer whose renewals are written with the commits.
    init(_ commits: GroupCommit<LedgerTables>) { self.commits = commits }

    /// Whether every renewal is in the ledger's file.
    var isEmpty: Bool { state.withLock(\.renewals.isEmpty) }

    /// Adds a renewal, which replaces an earlier one of the same registration.
    ///
    /// - Parameter limit: The maximum number of the owner's registrations. The write marks the surplus for deletion.
    func add(_ renewal: Renewal, of id: RegistrationID, limit: Int) {
        let mustSchedule = state.withLock { state in
            state.renewals[id] = renewal
            state.limit = limit
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard mustSchedule else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) { [self] in
            state.withLock { $0.isScheduled = false }
            write()
        }
    }

    /// Has the renewals written before every change that is added to the commits later. Does not wait. If the write
    /// fails, the renewals stay for the next one.
    func write() {
        if isEmpty { return }
        commits.add { [self] tables in
            let (renewals, limit) = state.withLock { ($0.renewals, $0.limit) }
            try tables.store(renewals, limit: limit)
            return { self.remove(renewals) }
        }
    }

    /// Removes the renewals that are on disk, except those replaced since.
    private func remove(_ written: [RegistrationID: Renewal]) {
        state.withLock { state in
            for (id, renewal) in written where state.renewals[id] == renewal { state.renewals[id] = nil }
        }
    }
}

extension LedgerTables {
    /// Writes the times of the renewals, and marks the surplus registrations of their owners for deletion.
    fileprivate func store(_ renewals: [RegistrationID: RenewalBuffer.Renewal], limit: Int) throws {
        for (id, renewal) in renewals {
            // Writing the whole row would also write its indexes, each on a different page if there are many rows.
            try execute(
                sql: "UPDATE registration SET last_seen = ? WHERE id = ? AND owner = ?",
                arguments: [renewal.time.microseconds, id.text, renewal.owner.text])
        }
        for owner in Set(renewals.values.map(\.owner)) { try limitRegistrations(limit, of: owner) }
    }

    /// Updates a registration whose device registered again with unchanged data, in one statement. `RenewalBuffer` takes
    /// most of these renewals; this is for those during another change of the ledger.
    ///
    /// - Returns: Whether the row matched and is live. False for an unconfirmed one, and for one of another upstream, which
    ///   the caller writes again and thereby confirms.
    func refreshLastSeen(
        _ id: RegistrationID, of owner: UserName, by account: Account?, _ handle: HandleKey,
        at upstream: UpstreamName?, _ now: WallTime
    ) throws -> Bool {
        let changed = try execute(
            sql: """
                UPDATE registration SET last_seen = ?
                WHERE id = ? AND owner = ? AND login IS NOT DISTINCT FROM ?
                    AND authenticator IS NOT DISTINCT FROM ? AND service = ? AND handle = ?
                    AND state = 'live' AND import_unconfirmed IS NULL AND upstream IS NOT DISTINCT FROM ?
                    AND NOT EXISTS (SELECT 1 FROM update_attempt WHERE update_attempt.registration = registration.id)
                """,
            arguments: [
                now.microseconds, id.text, owner.text, account?.login.text, account?.authenticator.text,
                handle.service.rawValue, handle.digest.bytes, upstream?.text,
            ])
        guard changed > 0 else { return false }
        try removeLabel(id, of: owner)
        return true
    }
}
