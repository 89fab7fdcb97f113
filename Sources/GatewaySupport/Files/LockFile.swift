internal import Glibc

/// An exclusive lock on a store, held while the object lives. It excludes other processes and other objects of this
/// process.
///
/// Uses flock(2) on a separate file. The system releases the lock with the descriptor, so a crash leaves no lock
/// behind.
package final class LockFile: Sendable {
    private let descriptor: CInt
    private let path: String

    /// Acquires the lock, or throws without waiting if another process or object holds it.
    package init(_ path: String) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_RDWR | O_CREAT)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(descriptor)
            guard code == EWOULDBLOCK else { throw FileFailure("lock", path, code: code) }
            throw FileFailure(unfit: path, "is locked: another process has this store open")
        }
        self.descriptor = descriptor
        self.path = path
    }

    /// Whether the locked file still exists at its path. Otherwise another process could lock a new file there.
    package var isInPlace: Bool {
        var (held, found) = (stat(), stat())
        guard fstat(descriptor, &held) == 0, lstat(path, &found) == 0 else { return false }
        return held.st_dev == found.st_dev && held.st_ino == found.st_ino
    }

    /// Releases the lock and keeps the file.
    package func release() { flock(descriptor, LOCK_UN) }

    deinit { close(descriptor) }
}
