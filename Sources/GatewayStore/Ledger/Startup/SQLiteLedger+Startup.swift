internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport

extension SQLiteLedger {
    /// Returns the path of the state file.
    static func stateFile(of file: String) -> String { file + ".state" }

    /// Throws if a ledger that was in use is empty or missing. Opening it as a new one would leave every device
    /// unbound, so that any user could register it.
    static func rejectLoss(of file: String, _ state: LedgerState?, version: Int) throws {
        guard version == 0, state != nil else { return }
        throw LedgerUnavailable(
            "\(file) is empty or was removed, but was in use; restore it from a copy made by \"ledger backup\", or "
                + "remove \(keyFile(of: file)) and \(stateFile(of: file)) to start with an empty ledger")
    }

    /// Checks the file if the last gateway did not close it, and throws if it is damaged.
    static func rejectDamage(_ database: DatabasePool, _ state: LedgerState?) throws {
        guard state?.isClosed != true else { return }
        guard let damage = try database.read({ try LedgerCheck.damage(of: $0, .pages) }) else { return }
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: damage)
    }

    /// Converts an error of opening. For a damaged file the message includes the remedy.
    static func openingFailure(_ error: any Error, _ file: String) -> LedgerUnavailable {
        guard let damage = LedgerHealth.damage(in: error) else { return LedgerUnavailable(describing: error) }
        return LedgerUnavailable(
            "\(file) is damaged: \(damage); restore it from a copy made by \"ledger backup\"")
    }

    /// Writes a new generation and the state "open". Marks the ledger as restored if it is an older copy.
    static func markOpen(_ database: DatabasePool, _ file: String, _ state: LedgerState?, now: WallTime) throws {
        let found = try database.read { try LedgerTables($0).generation() }
        let isCopy = state.map { !$0.generations.isEmpty && !$0.generations.contains(found ?? "") } ?? false
        try renew(database, file, from: found) { tables in
            try tables.recordRestore(isCopy: isCopy, now: now)
        }
    }

    /// Writes the generation of a closed ledger and empties the write-ahead log into the database file.
    ///
    /// GRDB closes the readers after the writer, and SQLite does not empty the log if a reader closes last. A remaining
    /// log would be applied to a copy that replaces the file, and a copy of the file alone would lack the log's
    /// changes.
    static func markClosed(_ database: DatabasePool, _ file: String) throws -> LedgerState {
        let found = try database.read { try LedgerTables($0).generation() }
        let state = try renew(database, file, from: found) { _ in }
        try database.barrierWriteWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        return state
    }

    /// Writes the next generation. After a crash at any point, the ledger has a generation that its state file names.
    @discardableResult
    private static func renew(
        _ database: DatabasePool, _ file: String, from old: String?, _ more: (LedgerTables) throws -> Void
    ) throws -> LedgerState {
        let new = LedgerState.newGeneration()
        let path = stateFile(of: file)
        // A ledger of an earlier version has no generation. It must not be rejected after a crash before the first one
        // is written.
        if let old { try LedgerState(isClosed: false, generations: [old, new]).write(path) }
        try database.write { database in
            try more(LedgerTables(database))
            try LedgerTables(database).store(generation: new)
        }
        let state = LedgerState(isClosed: false, generations: [new])
        try state.write(path)
        return state
    }
}

/// The content of `ledger.sqlite.state`: whether the last process closed the ledger, and the ledger's current
/// generation.
///
/// A generation is a random identifier that each start and each stop writes into both the ledger and this file. A
/// ledger with another generation than this file was restored from an older copy.
struct LedgerState: Sendable, Hashable {
    /// Whether the last process closed the ledger cleanly.
    var isClosed: Bool
    /// The generations that the ledger may have: two while it changes from one to the next.
    var generations: [String]

    /// Reads the file; nil if it does not exist. Treats invalid content as an unclean shutdown without a known
    /// generation. Blocks.
    static func read(_ path: String) throws(FileFailure) -> LedgerState? {
        guard let bytes = try PrivateFiles.read(path, atMost: 4096) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.count >= 2, words[0] == "closed" || words[0] == "open",
            words.dropFirst().allSatisfy({ $0.utf8.count == 16 && $0.utf8.allSatisfy { $0.hexDigitValue != nil } })
        else { return LedgerState(isClosed: false, generations: []) }
        return LedgerState(isClosed: words[0] == "closed", generations: Array(words.dropFirst()))
    }

    /// Replaces the file durably. Blocks.
    func write(_ path: String) throws(FileFailure) {
        let text = "\(isClosed ? "closed" : "open") \(generations.joined(separator: " "))\n"
        let draft = path + ".draft"
        try PrivateFiles.remove(draft)
        try PrivateFiles.write(Array(text.utf8), toNew: draft)
        try PrivateFiles.rename(draft, to: path)
    }

    /// Returns a new random generation.
    static func newGeneration() -> String {
        var source = SystemRandomNumberGenerator()
        let digits = String(UInt64.random(in: .min ... .max, using: &source), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
