internal import GatewayCore
internal import GatewaySupport
internal import Glibc
internal import Synchronization

/// The files of the index in the journal's directory, and the lock that its processes share.
///
/// A process that uses the index holds a shared lock (flock(2)) on `index.lock`. A process that opens the index while
/// no other process uses it keeps the database only if its ``CleanShutdownMarker`` is valid, and otherwise removes all
/// files of the index. SQLite writes the database without synchronizing, so a power failure may leave it in any state.
/// The last process that closes the database writes a new marker.
final class IndexFiles: Sendable {
    /// The path of the database.
    let database: String
    private let marker: CleanShutdownMarker
    private let descriptor: CInt
    private let state = Mutex(State())

    private struct State {
        var hasWritten = false
        var isClosed = false
    }

    private static let attempts = 10_000
    private static let pauseMicroseconds: UInt32 = 2000

    /// Acquires the shared lock, and removes a database without a valid marker if no other process uses it. Blocks.
    init(directory: String) throws(FileFailure) {
        database = directory + "/" + AuditIndex.fileName
        marker = CleanShutdownMarker(database: database)
        let lock = directory + "/index.lock"
        descriptor = try Self.open(lock)
        do throws(FileFailure) {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, !isTrustworthy { try removeAll() }
            var attempt = 0
            // Another process may hold the exclusive lock for a moment while it checks the marker.
            while flock(descriptor, LOCK_SH | LOCK_NB) != 0 {
                attempt += 1
                guard errno == EWOULDBLOCK || errno == EINTR, attempt < Self.attempts else {
                    throw FileFailure("lock", lock)
                }
                usleep(Self.pauseMicroseconds)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    deinit { close(keeping: false) }

    private static func open(_ lock: String) throws(FileFailure) -> CInt {
        for _ in 0..<2 {
            let descriptor = Glibc.open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            if descriptor >= 0 {
                assignToDirectoryOwner(lock)
                return descriptor
            }
            // Another user owns the file. The gateway owns the directory, so it can replace the file.
            guard errno == EACCES, unlink(lock) == 0 else { break }
        }
        throw FileFailure("open", lock)
    }

    /// Changes the owner of a file that root created to the directory's owner. The gateway runs as that user and must
    /// be able to open the file.
    static func assignToDirectoryOwner(_ path: String) {
        var (directory, file) = (stat(), stat())
        guard geteuid() == 0, stat(PrivateFiles.parent(of: path), &directory) == 0, lstat(path, &file) == 0,
            (directory.st_uid, directory.st_gid) != (file.st_uid, file.st_gid)
        else { return }
        _ = lchown(path, directory.st_uid, directory.st_gid)
    }

    /// Removes the clean shutdown marker before the first write. Must be called before each write.
    func beginWriting() throws(FileFailure) {
        guard !state.withLock({ $0.hasWritten }) else { return }
        try marker.remove()
        state.withLock { $0.hasWritten = true }
    }

    /// Whether a process marked the database as damaged while other processes used it.
    var isMarkedDamaged: Bool { access(damagePath, F_OK) == 0 }

    /// Creates the file `index.damaged`. The next process that opens the index alone then removes the database.
    func markDamaged() {
        try? marker.remove()
        if let created = try? PrivateFiles.openRegular(damagePath, O_WRONLY | O_CREAT) { Glibc.close(created) }
    }

    /// Releases the lock after the database was closed. The last process writes the marker, or removes a damaged
    /// database.
    ///
    /// - Parameters:
    ///   - keeping: Whether this process found no damage.
    ///   - checkpointLog: Copies the write-ahead log into the database. Called only if no other process uses the
    ///     database.
    func close(keeping: Bool, _ checkpointLog: () throws -> Void = {}) {
        let (isFirst, hasWritten) = state.withLock { state in
            defer { state.isClosed = true }
            return (!state.isClosed, state.hasWritten)
        }
        guard isFirst else { return }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
            if !keeping || isMarkedDamaged {
                try? removeAll()
            } else if hasWritten || !marker.exists {
                // A failure here only means that the next process rebuilds the database.
                if !hasNoLog { try? checkpointLog() }
                if hasNoLog, (try? marker.write()) != nil { Self.assignToDirectoryOwner(marker.path) }
            }
        } else if !keeping {
            markDamaged()
        }
        Glibc.close(descriptor)
    }

    private var damagePath: String { PrivateFiles.parent(of: database) + "/index.damaged" }

    private var isTrustworthy: Bool { !isMarkedDamaged && hasNoLog && marker.isValid }

    private var hasNoLog: Bool { Self.hasNoLog(beside: database) }

    /// Returns whether a process uses the index of the journal in the directory. Creates no file.
    static func isUsed(in directory: String) throws(FileFailure) -> Bool {
        let lock = directory + "/index.lock"
        let descriptor = Glibc.open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return false }
            throw FileFailure("open", lock)
        }
        defer { Glibc.close(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) != 0
    }

    /// Returns whether the database was closed cleanly and has not changed since.
    static func wasClosedCleanly(in directory: String) -> Bool {
        let database = directory + "/" + AuditIndex.fileName
        return access(directory + "/index.damaged", F_OK) != 0 && hasNoLog(beside: database)
            && CleanShutdownMarker(database: database).isValid
    }

    /// Whether the write-ahead log and the rollback journal are missing or empty.
    private static func hasNoLog(beside database: String) -> Bool {
        ["-wal", "-shm", "-journal"].allSatisfy { suffix in
            var status = stat()
            guard lstat(database + suffix, &status) == 0 else { return errno == ENOENT }
            return status.st_mode & S_IFMT == S_IFREG && (suffix == "-shm" || status.st_size == 0)
        }
    }

    /// Removes the database and its files. Removes the marker first, so that it never describes a partly removed
    /// database. Removes a directory that has the name of a file only if it is empty.
    private func removeAll() throws(FileFailure) {
        try marker.remove()
        for path in ["", "-wal", "-shm", "-journal"].map({ database + $0 }) + [damagePath] {
            guard unlink(path) != 0, errno != ENOENT else { continue }
            guard rmdir(path) == 0 else { throw FileFailure("remove", path) }
        }
    }
}
