#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

extension SecretFile {
    /// The identity and version of a file. A replaced or modified file has another stamp, even if its size and
    /// modification time are the same: the kernel sets the status change time, and no program can choose it.
    public struct Stamp: Sendable, Equatable {
        private let device: UInt
        private let inode: UInt
        private let size: Int
        private let modified: Time
        private let changed: Time

        /// A time of a file, in the resolution of the file system.
        private struct Time: Equatable {
            let seconds: Int
            let nanoseconds: Int

            init(_ time: timespec) {
                seconds = Int(time.tv_sec)
                nanoseconds = Int(time.tv_nsec)
            }
        }

        /// Reads the stamp of a file; returns nil if there is none.
        public init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            modified = Time(status.st_mtim)
            changed = Time(status.st_ctim)
        }
    }

    /// Replaces or creates the file atomically, for a caller that has held the lock since it read the old text. A
    /// concurrent reader sees the old text or the new one.
    ///
    /// A new file has mode 0600, or 0640 if its directory passes its group on (setgid). Created by root, it gets the
    /// owner of its directory. A replaced file keeps its owner, its group, and the group's permission to read. A
    /// gateway that runs as another user than the operator can therefore still read it.
    public static func replace(
        _ path: String, with text: String, holding lock: Lock
    ) throws(ConfigurationProblem) {
        let target = lock.target
        var old = stat()
        let hasOld = stat(target, &old) == 0
        let directory = directory(of: target)
        // The name is constant, so that a file left by a killed command is removed by the next change. Only the holder
        // of the lock uses it.
        let temporary = "\(directory).\(target.dropFirst(directory == "./" ? 0 : directory.count)).notify-gateway-new"
        do throws(FileFailure) {
            try AtomicFile.write(Array(text.utf8), to: target, draft: temporary, .replacing) {
                draft throws(FileFailure) in
                let isOwned = hasOld ? copyOwnership(draft, old) : inheritOwnership(draft, from: directory)
                guard isOwned else { throw FileFailure("chown", temporary) }
            }
        } catch {
            throw problem(path, "cannot be written: \(error.systemMessage)")
        }
        // The file is in place even on a file system that cannot synchronize a directory.
        try? PrivateFiles.synchronizeDirectory(directory)
    }

    /// Replaces a file that was loaded before, if no other process has changed it since.
    ///
    /// - Parameters:
    ///   - stamp: The stamp of the loaded file; nil if it did not exist.
    ///   - lock: The lock that the caller has held since it loaded the file; nil to acquire it for this write.
    /// - Throws: `ConfigurationError` if the file has changed or cannot be written. It is then left as it was.
    public static func replace(
        _ path: String, with text: String, loadedAs stamp: Stamp?, holding lock: Lock? = nil
    ) throws(ConfigurationError) {
        do throws(ConfigurationProblem) {
            let lock = if let lock { lock } else { try Lock(path) }
            guard Stamp(path) == stamp else {
                throw problem(path, "was changed by another process; try again")
            }
            try replace(path, with: text, holding: lock)
        } catch {
            throw ConfigurationError([error])
        }
    }

    /// Resolves a symbolic link. Replacing the link itself would leave its target unchanged.
    static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// Returns the directory of a path with a trailing slash.
    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }

    private static func copyOwnership(_ descriptor: Int32, _ old: stat) -> Bool {
        var new = stat()
        guard fstat(descriptor, &new) == 0 else { return false }
        if new.st_uid != old.st_uid || new.st_gid != old.st_gid {
            guard fchown(descriptor, old.st_uid, old.st_gid) == 0 else { return false }
        }
        return fchmod(descriptor, 0o600 | old.st_mode & S_IRGRP) == 0
    }

    /// Gives a new file made by root to the owner of its directory, and lets the group read it if the directory is
    /// setgid.
    private static func inheritOwnership(_ descriptor: Int32, from directory: String) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0 else { return true }
        if geteuid() == 0, status.st_uid != 0, fchown(descriptor, status.st_uid, status.st_gid) != 0 { return false }
        guard status.st_mode & S_ISGID != 0 else { return true }
        return fchmod(descriptor, 0o640) == 0
    }
}

extension SecretFile {
    /// The exclusive right to replace a file, held from reading the old text to writing the new one.
    ///
    /// The lock is `flock` (flock(2)) on the file's directory. It creates no file, works if the file does not exist
    /// yet, and is released when the process exits. It is advisory: an editor ignores it.
    public final class Lock: Sendable {
        /// The file, with symbolic links resolved.
        let target: String
        private let descriptor: Int32

        /// Waits until no other command holds the lock of the directory.
        ///
        /// - Parameters:
        ///   - path: The file to replace.
        ///   - maximumWait: The maximum time to wait.
        /// - Throws: A problem that names the file, if the wait times out or the directory cannot be opened.
        public init(_ path: String, maximumWait: Duration = .seconds(30)) throws(ConfigurationProblem) {
            target = SecretFile.resolved(path)
            let directory = SecretFile.directory(of: target)
            let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw SecretFile.problem(path, "cannot be written: \(directory): \(SecretFile.lastError())")
            }
            let end = ContinuousClock.now + maximumWait
            while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
                let isHeld = errno == EWOULDBLOCK
                guard isHeld || errno == EINTR, ContinuousClock.now < end else {
                    let reason =
                        isHeld
                        ? "another command has held the lock of \(directory) for \(maximumWait.components.seconds) s "
                            + "(`fuser -v \(directory)`); nothing was changed"
                        : "\(directory) cannot be locked: \(SecretFile.lastError())"
                    close(descriptor)
                    throw SecretFile.problem(path, reason)
                }
                usleep(2_000)
            }
            self.descriptor = descriptor
        }

        deinit { close(descriptor) }
    }
}
