internal import Foundation
internal import GRDB
internal import GatewayCore

/// The statements about devices that change hands.
extension LedgerTables {
    /// How often the handle changed hands after the time.
    func handOvers(of handle: HandleKey, after time: WallTime) throws -> Int {
        try firstRow(
            sql: "SELECT count(*) FROM hand_over WHERE service = ? AND handle = ? AND at > ?",
            arguments: [handle.service.rawValue, Data(handle.digest.bytes), time.microseconds])?[0] ?? 0
    }

    /// Whether the user may take the handle over once more: its hand-overs are counted for each new owner, so that nobody uses up
    /// another's. Whoever had it before the first of them may always take it back.
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

    /// Counts a hand-over and forgets those that no longer count.
    func countHandOver(
        of handle: HandleKey, from former: UserName, to owner: UserName, now: WallTime, forgetting time: WallTime
    ) throws {
        // As long as hand-overs follow one another within a day, the same user counts as the owner before them.
        let original = try originalOwner(of: handle, after: time) ?? former.text
        try execute(
            sql: "INSERT INTO hand_over (service, handle, at, owner, former) VALUES (?, ?, ?, ?, ?)",
            arguments: [
                handle.service.rawValue, Data(handle.digest.bytes), now.microseconds, owner.text, original,
            ])
        try execute(sql: "DELETE FROM hand_over WHERE at <= ?", arguments: [time.microseconds])
    }

    /// Who had the handle before the first of the hand-overs that followed one another up to now; nil where there was none after
    /// the time, or that user was revoked.
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
