internal import Foundation
internal import GRDB
public import GatewayCore
internal import GatewaySupport

/// A private copy of a ledger that no gateway has open, for commands that only read.
///
/// Opening a ledger directly would create files beside it (SQLite's write-ahead log and its index) and migrate it.
/// Files that a command creates as root could not be opened by the service. The copy lies in a directory of mode 0700
/// below the temporary directory, and `remove()` deletes it. The next copy deletes one that a killed command left.
public struct LedgerCopy: Sendable {
    /// The path of the copied ledger. The copy of its key lies beside it.
    public let file: String
    private let copy: PrivateCopy

    /// Copies the ledger, its write-ahead log and its key. Blocks.
    ///
    /// - Returns: nil if the ledger does not exist.
    /// - Throws: If another process has the ledger open, it cannot be read, or there is no space for the copy.
    public init?(of source: String) throws(LedgerUnavailable) {
        do throws(FileFailure) {
            guard try Self.exists(source) else { return nil }
            // Held while the files are copied, so that no gateway changes them.
            let lock = try Self.lock(source + ".lock")
            defer { if lock >= 0 { close(lock) } }
            copy = try PrivateCopy()
            file = copy.path("ledger.sqlite")
            do throws(FileFailure) {
                try copy.add(source, as: "ledger.sqlite")
                for suffix in ["-wal", ".key"] where try Self.exists(source + suffix) {
                    try copy.add(source + suffix, as: "ledger.sqlite" + suffix)
                }
            } catch {
                remove()
                throw error
            }
        } catch {
            throw LedgerUnavailable(error.description)
        }
    }

    /// Runs the body in one read transaction of a ledger that another process may have open. Writes nothing beside the
    /// ledger: one that no process has open is read from a copy. Blocks.
    ///
    /// - Returns: nil if the ledger does not exist.
    static func read<Result>(_ file: String, _ body: (Database) throws -> Result) throws(LedgerUnavailable) -> Result? {
        guard access(file, F_OK) == 0 else { return nil }
        let copy = isOpen(file) ? nil : try LedgerCopy(of: file)
        defer { copy?.remove() }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let database = try DatabaseQueue(path: copy?.file ?? file, configuration: configuration)
            defer { try? database.close() }
            return try database.read(body)
        } catch {
            throw LedgerUnavailable(ofSQLite: error)
        }
    }

    /// Returns whether a process has the ledger open; true if the lock cannot be checked. Creates no files.
    public static func isOpen(_ source: String) -> Bool {
        guard let lock = try? lock(source + ".lock") else { return true }
        if lock >= 0 { close(lock) }
        return false
    }

    /// Removes the copy.
    public func remove() { copy.remove() }

    /// Returns the descriptor of the ledger's lock, shared with other readers; -1 if no lock file exists.
    private static func lock(_ path: String) throws(FileFailure) -> CInt {
        let descriptor: CInt
        do {
            descriptor = try PrivateFiles.openRegular(path, O_RDONLY)
        } catch {
            if error.isMissing { return -1 }
            throw error
        }
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
            close(descriptor)
            throw FileFailure(unfit: path, "is locked: another process has this store open")
        }
        return descriptor
    }

    private static func exists(_ path: String) throws(FileFailure) -> Bool {
        var status = stat()
        if stat(path, &status) == 0 { return true }
        guard errno == ENOENT || errno == ENOTDIR else { throw FileFailure("stat", path) }
        return false
    }
}
