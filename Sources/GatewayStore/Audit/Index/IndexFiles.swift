internal import GatewayCore
internal import Glibc
internal import Synchronization

/// The files of the index in the journal's directory, and the processes that use them.
///
/// A process that uses the index holds a shared lock (flock(2)) on `index.lock`. A process that finds itself alone at the opening
/// keeps the database only where ``CleanEnd`` vouches for it, and removes all files of the index otherwise: SQLite writes it
/// without synchronising, so a loss of power may leave it in any state. The last process that closes it vouches for it anew.
final class IndexFiles: Sendable {
    /// The path of the database.
    let database: String
    private let cleanEnd: CleanEnd
    private let descriptor: CInt
    private let state = Mutex(State())

    private struct State {
        var hasWritten = false
        var isClosed = false
    }

    private static let attempts = 10_000
    private static let pauseMicroseconds: UInt32 = 2000

    /// Acquires the shared lock; removes a database that nobody vouches for. Blocks.
    init(directory: String) throws(FileFailure) {
        database = directory + "/" + AuditIndex.fileName
        cleanEnd = CleanEnd(database: database)
        let lock = directory + "/index.lock"
        descriptor = try Self.open(lock)
        do throws(FileFailure) {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, !isTrustworthy { try removeAll() }
            var attempt = 0
            // Another process may be deciding at this moment.
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
                giveToOwner(lock)
                return descriptor
            }
            // Another user's: in a directory of ours it can be replaced.
            guard errno == EACCES, unlink(lock) == 0 else { break }
        }
        throw FileFailure("open", lock)
    }

    /// Gives a file that root made to the owner of the directory: the gateway, which runs as that user, has to open it.
    static func giveToOwner(_ path: String) {
        var (directory, file) = (stat(), stat())
        guard geteuid() == 0, stat(PrivateFiles.parent(of: path), &directory) == 0, lstat(path, &file) == 0,
            (directory.st_uid, directory.st_gid) != (file.st_uid, file.st_gid)
        else { return }
        _ = lchown(path, directory.st_uid, directory.st_gid)
    }

    /// Says that the database is about to be written to: from now on nobody vouches for it. Called before each write.
    func beginWriting() throws(FileFailure) {
        guard !state.withLock({ $0.hasWritten }) else { return }
        try cleanEnd.remove()
        state.withLock { $0.hasWritten = true }
    }

    /// Whether some process found the database damaged while others used it.
    var isMarkedDamaged: Bool { access(damagePath, F_OK) == 0 }

    /// Has the database removed by the next process that finds itself alone with it.
    func markDamaged() {
        try? cleanEnd.remove()
        let mark = Glibc.open(damagePath, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if mark >= 0 { Glibc.close(mark) }
    }

    /// Gives the lock up, after the database was closed. The last user vouches for the database, or removes one that is damaged.
    ///
    /// - Parameters:
    ///   - keeping: whether the database is good as far as this process knows.
    ///   - carryOver: carries changes that lie beside the database over into it; called where nobody else uses it.
    func close(keeping: Bool, _ carryOver: () throws -> Void = {}) {
        let (isFirst, hasWritten) = state.withLock { state in
            defer { state.isClosed = true }
            return (!state.isClosed, state.hasWritten)
        }
        guard isFirst else { return }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
            if !keeping || isMarkedDamaged {
                try? removeAll()
            } else if hasWritten || !cleanEnd.exists {
                // Where this fails the database is made anew next time, which is always right.
                if !hasNoLog { try? carryOver() }
                if hasNoLog, (try? cleanEnd.write()) != nil { Self.giveToOwner(cleanEnd.path) }
            }
        } else if !keeping {
            markDamaged()
        }
        Glibc.close(descriptor)
    }

    private var damagePath: String { PrivateFiles.parent(of: database) + "/index.damaged" }

    private var isTrustworthy: Bool { !isMarkedDamaged && hasNoLog && cleanEnd.holds }

    private var hasNoLog: Bool { Self.hasNoLog(beside: database) }

    /// Whether some process uses the index of the journal in the directory. Makes nothing.
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

    /// Whether the database may be read by a process that is alone with it: it was closed in order, and has not changed since.
    static func isClosedInOrder(in directory: String) -> Bool {
        let database = directory + "/" + AuditIndex.fileName
        return access(directory + "/index.damaged", F_OK) != 0 && hasNoLog(beside: database)
            && CleanEnd(database: database).holds
    }

    /// Whether no change waits beside the database to be carried over into it.
    private static func hasNoLog(beside database: String) -> Bool {
        ["-wal", "-shm", "-journal"].allSatisfy { suffix in
            var status = stat()
            guard lstat(database + suffix, &status) == 0 else { return errno == ENOENT }
            return status.st_mode & S_IFMT == S_IFREG && (suffix == "-shm" || status.st_size == 0)
        }
    }

    /// Removes the database and what belongs to it; the statement first, so that nobody vouches for what is left. A directory in the
    /// place of a file is removed only where it is empty.
    private func removeAll() throws(FileFailure) {
        try cleanEnd.remove()
        for path in ["", "-wal", "-shm", "-journal"].map({ database + $0 }) + [damagePath] {
            guard unlink(path) != 0, errno != ENOENT else { continue }
            guard rmdir(path) == 0 else { throw FileFailure("remove", path) }
        }
    }
}
