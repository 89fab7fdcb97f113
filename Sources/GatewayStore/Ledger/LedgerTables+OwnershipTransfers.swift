internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

/// Statements on transfers of devices between users.
extension LedgerTables {
    /// Returns the number of transfers of the handle after the time.
    func ownershipTransfers(of handle: HandleKey, after time: WallTime) throws -> Int {
        try firstRow(
            sql: "SELECT count(*) FROM hand_over WHERE service = ? AND handle = ? AND at > ?",
            arguments: [handle.service.rawValue, Data(handle.digest.bytes), time.microseconds])?[0] ?? 0
    }

    /// Returns whether the user may take over the handle once more. The limit applies to each new owner separately, so
    /// that no user exhausts the limit of another. The owner before the first transfer may always take the handle back.
    func mayTakeOver(_ handle: HandleKey, _ user: UserName, limit: Int, after time: WallTime) throws -> Bool {
        let count: Int =
            try firstRow(
                sql: "SELECT count(*) FROM hand_over WHERE service = ? AND handle = ? AND owner = ? AND at > ?",
                arguments: [
                    handle.service.rawValue, Data(handle.digest.bytes), user.text, time.microseconds,
                ])?[0] ?? 0
        if count < limit { return true }
        return try originalOwner(of: handle, after: time) == user.text
    }

    /// Stores a transfer and removes expired ones.
    func countOwnershipTransfer(
        of handle: HandleKey, from former: UserName, to owner: UserName, now: WallTime, forgetting time: WallTime
    ) throws {
        // The original owner stays the same while each transfer follows the previous one within 24 hours.
        let original = try originalOwner(of: handle, after: time) ?? former.text
        try execute(
            sql: "INSERT INTO hand_over (service, handle, at, owner, former) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                handle.service.rawValue, Data(handle.digest.bytes), now.microseconds, owner.text, original,
            ])
        try execute(sql: "DELETE FROM hand_over WHERE at <= ?", arguments: [time.microseconds])
    }

    /// Returns the owner before the first of the transfers that followed one another; nil if there was none after the
    /// time, or if that owner was revoked.
    private func originalOwner(of handle: HandleKey, after time: WallTime) throws -> String? {
        let last = try firstRow(
            sql: """
                SELECT former FROM hand_over WHERE service = ? AND handle = ? AND at > ?
                ORDER BY at DESC, rowid DESC LIMIT 1
                """,
            arguments: [handle.service.rawValue, Data(handle.digest.bytes), time.microseconds])
        return try last?.optional("former", as: String.self)
    }
}
