public import GatewayCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

extension SecretFile {
    /// Which file it was that was read: another one in its place, or a change to it, has another stamp.
    public struct Stamp: Sendable, Equatable {
        private let device: UInt
        private let inode: UInt
        private let size: Int
        private let seconds: Int
        private let nanoseconds: Int

        /// The stamp of a file, or nil where there is none.
        public init?(_ path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            seconds = Int(status.st_mtim.tv_sec)
            nanoseconds = Int(status.st_mtim.tv_nsec)
        }
    }

    /// Replaces the file, or makes it: whoever reads it sees the old text or the new one, whatever happens meanwhile.
    ///
    /// A new file has mode 0600, or 0640 where its directory hands its group down (setgid); made by root, it gets the owner of its
    /// directory. One that is replaced keeps its owner and its group, and the group its reading. So a gateway under another user
    /// than the operator's still reads it.
    public static func replace(_ path: String, with text: String) throws(ConfigurationProblem) {
        try replace(path, with: text, holding: Lock(path))
    }

    /// The same for a caller that has held the lock since it read the old text.
    public static func replace(
        _ path: String, with text: String, holding lock: Lock
    ) throws(ConfigurationProblem) {
        let target = lock.target
        var old = stat()
        let hasOld = stat(target, &old) == 0
        let directory = directory(of: target)
        // Always the same name: what a killed command has left goes with the next change, and only the holder of the lock has one.
        let temporary = "\(directory).\(target.dropFirst(directory == "./" ? 0 : directory.count)).notify-gateway-new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw problem(path, "cannot be written: \(lastError())") }
        let isWritten =
            store(text, to: descriptor)
            && (hasOld ? handOver(descriptor, old) : adopt(descriptor, from: directory))
            && fsync(descriptor) == 0
            && rename(temporary, target) == 0
        guard isWritten else {
            let error = lastError()
            close(descriptor)
            unlink(temporary)
            throw problem(path, "cannot be written: \(error)")
        }
        close(descriptor)
        flushDirectory(directory)
    }

    /// The file that a symbolic link stands for: replacing the link itself would leave the file behind it as it was.
    static func resolved(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    /// The directory of a path, with the slash at its end.
    static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
    }

    private static func store(_ text: String, to descriptor: Int32) -> Bool {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func handOver(_ descriptor: Int32, _ old: stat) -> Bool {
        var new = stat()
        guard fstat(descriptor, &new) == 0 else { return false }
        if new.st_uid != old.st_uid || new.st_gid != old.st_gid {
            guard fchown(descriptor, old.st_uid, old.st_gid) == 0 else { return false }
        }
        return fchmod(descriptor, 0o600 | old.st_mode & S_IRGRP) == 0
    }

    /// Gives a new file to the owner of its directory where root makes it, and lets the group read it where the directory's mode
    /// says that what is made in it is the group's.
    private static func adopt(_ descriptor: Int32, from directory: String) -> Bool {
        var status = stat()
        guard stat(directory, &status) == 0 else { return true }
        if geteuid() == 0, status.st_uid != 0, fchown(descriptor, status.st_uid, status.st_gid) != 0 { return false }
        guard status.st_mode & S_ISGID != 0 else { return true }
        return fchmod(descriptor, 0o640) == 0
    }

    /// Makes the new name last through a power cut. Where a file system cannot do that, the file is there all the same.
    private static func flushDirectory(_ directory: String) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }
}
