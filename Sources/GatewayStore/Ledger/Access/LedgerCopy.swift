internal import Foundation
public import GatewayCore

/// A private copy of a ledger that no gateway has open, for commands that only read.
///
/// SQLite makes files beside a database that it reads (the index of a write-ahead log, and the log itself), and opening a ledger
/// brings it up to date. A command that reads must do neither: what it would make as root the service could not open.
public struct LedgerCopy: Sendable {
    /// The copy of the ledger, with the copy of its key beside it.
    public let file: String
    private let copy: PrivateCopy

    /// Copies the ledger, its write-ahead log and its key. Blocks.
    ///
    /// - Returns: nil where there is no ledger.
    /// - Throws: Where another process has the ledger open, where it cannot be read, and where there is no room for the copy.
    public init?(of source: String) throws(LedgerUnavailable) {
        do throws(FileFailure) {
            guard try Self.exists(source) else { return nil }
            // Held while the files are copied, so that no gateway changes them meanwhile.
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

    /// Whether a process has the ledger open. Makes nothing.
    public static func isOpen(_ source: String) -> Bool {
        guard let lock = try? lock(source + ".lock") else { return true }
        if lock >= 0 { close(lock) }
        return false
    }

    /// Removes the copy.
    public func remove() { copy.remove() }

    /// The descriptor of the ledger's lock, shared with other readers; -1 where there is no lock yet.
    private static func lock(_ path: String) throws(FileFailure) -> CInt {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return -1 }
            throw FileFailure("open", path)
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
