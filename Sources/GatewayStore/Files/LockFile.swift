internal import Glibc

/// Holds a store against a second process, and a second opener in this one, for as long as it lives.
///
/// `flock` (flock(2)) on a file of its own. The system gives the lock up with the descriptor, so a crash leaves nothing behind.
final class LockFile: Sendable {
    private let descriptor: CInt
    private let path: String

    /// Takes the lock, or says at once that somebody else has it.
    init(_ path: String) throws(FileFailure) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw FileFailure("lock", path, code: code) }
            throw FileFailure(unfit: path, "is locked: another process has this store open")
        }
        self.descriptor = descriptor
        self.path = path
    }

    /// Whether the file that is locked still has its path. Without it another process would lock another file.
    var isInPlace: Bool {
        var (held, found) = (stat(), stat())
        guard fstat(descriptor, &held) == 0, lstat(path, &found) == 0 else { return false }
        return held.st_dev == found.st_dev && held.st_ino == found.st_ino
    }

    /// Gives the lock up; the file stays.
    func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}
