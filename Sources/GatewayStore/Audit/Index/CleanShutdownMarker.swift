internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// The clean shutdown marker `index.clean`. It states that the last process closed the database cleanly and that the
/// database has not changed since.
///
/// The marker contains the database's size, inode and time stamps, and a digest of its first page. A database that was
/// written, truncated, replaced or restored later has other values, and so has a database after a power failure. The
/// marker is written after the database is on disk. It is removed, durably, before the next write to the database.
struct CleanShutdownMarker {
    /// The path of the database.
    let database: String

    /// The path of the marker.
    var path: String { PrivateFiles.parent(of: database) + "/index.clean" }

    private static let title = "notify-gateway audit index, closed in order\n"
    private static let longest = 1024
    private static let pageBytes = 4096

    /// Whether the marker exists, is complete, and matches the database as it is now.
    var isValid: Bool {
        guard let text = try? PrivateFiles.read(path, atMost: Self.longest),
            let statement = try? statement(durably: false)
        else { return false }
        return text == statement
    }

    /// Whether the marker exists, with any content.
    var exists: Bool { access(path, F_OK) == 0 }

    /// Synchronizes the database to disk, then writes the marker.
    func write() throws(FileFailure) {
        try PrivateFiles.write(try statement(durably: true), toNew: path)
    }

    /// Removes the marker durably.
    func remove() throws(FileFailure) {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw FileFailure("unlink", path)
        }
        try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: path))
    }

    private func statement(durably: Bool) throws(FileFailure) -> [UInt8] {
        let descriptor = open(database, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileFailure("open", database) }
        defer { close(descriptor) }
        if durably { guard fsync(descriptor) == 0 else { throw FileFailure("fsync", database) } }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0 else {
            throw FileFailure(unfit: database, "is not a private file")
        }
        if durably, !Self.waitUntilLater(than: status.st_ctim) {
            throw FileFailure(unfit: database, "has a change time in the future")
        }
        var page = [UInt8](repeating: 0, count: Self.pageBytes)
        let count = page.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0, let digest = page[..<count].withUnsafeBytes(SHA256.Digest.init(of:)) else {
            throw FileFailure("read", database)
        }
        var text = Array(Self.title.utf8)
        text += Array("size \(status.st_size)\ninode \(status.st_ino)\n".utf8)
        text += Array("modified \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)\n".utf8)
        text += Array("changed \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)\n".utf8)
        text += Array("page ".utf8) + Array(digest.hexDigits) + Array("\n".utf8)
        return text
    }

    /// Waits until a later change of the file gets another time stamp. The kernel stamps files from a clock that
    /// advances every few milliseconds. Returns false after 100 ms, which means that the clock was set back.
    private static func waitUntilLater(than changed: timespec) -> Bool {
        for _ in 0..<100 {
            var now = timespec()
            clock_gettime(CLOCK_REALTIME_COARSE, &now)
            if (now.tv_sec, now.tv_nsec) > (changed.tv_sec, changed.tv_nsec) { return true }
            usleep(1000)
        }
        return false
    }
}
