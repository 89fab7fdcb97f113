internal import Foundation
public import GatewayCore

/// A private copy of a ledger that no gateway has open, for commands that only read.
///
/// Opening a ledger directly would create files beside it (SQLite's write-ahead log and its index) and migrate it.
/// Files that a command creates as root could not be opened by the service. The copy lies in a directory of mode 0700
/// below the temporary directory, and `remove()` deletes it. The next copy deletes one that a killed command left.
public struct LedgerCopy: Sendable {
    /// The path of the copied ledger. The copy of its key lies beside it.
    public let file: String
    private let directory: String
    private let hold: CInt

    private static let prefix = "notify-gateway-read-"

    /// Copies the ledger, its write-ahead log and its key. Blocks.
    ///
    /// - Returns: nil where the ledger does not exist.
    /// - Throws: Where another process has the ledger open, where it cannot be read, and where there is no space for
    ///   the copy.
    public init?(of source: String) throws(LedgerUnavailable) {
        do throws(FileFailure) {
            guard try Self.exists(source) else { return nil }
            // Held while the files are copied, so that no gateway changes them.
            let lock = try Self.lock(source + ".lock")
            defer { if lock >= 0 { close(lock) } }
            let temporary = FileManager.default.temporaryDirectory.path(percentEncoded: false)
            Self.removeLeftovers(in: temporary)
            directory = try Self.makeDirectory(in: temporary)
            hold = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            _ = flock(hold, LOCK_EX | LOCK_NB)
            file = directory + "/ledger.sqlite"
            do throws(FileFailure) {
                try Self.copy(source, to: file)
                for suffix in ["-wal", ".key"] where try Self.exists(source + suffix) {
                    try Self.copy(source + suffix, to: file + suffix)
                }
            } catch {
                remove()
                throw error
            }
        } catch {
            throw LedgerUnavailable(error.description)
        }
    }

    /// Returns whether a process has the ledger open. Creates no files.
    public static func isOpen(_ source: String) -> Bool {
        guard let lock = try? lock(source + ".lock") else { return true }
        if lock >= 0 { close(lock) }
        return false
    }

    /// Removes the copy.
    public func remove() {
        try? FileManager.default.removeItem(atPath: directory)
        if hold >= 0 { close(hold) }
    }

    /// Returns the descriptor of the ledger's lock, shared with other readers; -1 where no lock file exists.
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

    private static func makeDirectory(in parent: String) throws(FileFailure) -> String {
        let path = "\(parent.hasSuffix("/") ? parent : parent + "/")\(prefix)\(UUID().uuidString)"
        guard mkdir(path, 0o700) == 0 else { throw FileFailure("mkdir", path) }
        return path
    }

    private static func copy(_ source: String, to target: String) throws(FileFailure) {
        let input = open(source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard input >= 0 else { throw FileFailure("open", source) }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileFailure("create", target) }
        defer { close(output) }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure("read", source) }
            if count == 0 { return }
            var rest = chunk[..<count]
            while !rest.isEmpty {
                let written = rest.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw FileFailure("write", target) }
                rest = rest.dropFirst(written)
            }
        }
    }

    /// Removes copies of this user that no process holds.
    private static func removeLeftovers(in parent: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = "\(parent.hasSuffix("/") ? parent : parent + "/")\(name)"
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            // A directory younger than a minute may belong to a process that is about to lock it.
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                status.st_mtim.tv_sec + 60 < time(nil), flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
