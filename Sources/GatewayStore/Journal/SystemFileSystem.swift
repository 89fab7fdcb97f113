internal import CStatx
internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// Implements ``JournalFileSystem`` with system calls. The contracts are documented there.
struct SystemFileSystem: JournalFileSystem {
    func create(_ path: String) throws(FileFailure) -> CInt {
        // With O_DSYNC (open(2)) one call writes and synchronizes. Overwriting preallocated bytes changes no metadata.
        let descriptor = open(path, O_WRONLY | O_DSYNC | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure("create", path) }
        return descriptor
    }

    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: CInt, _ path: String
    ) throws(FileFailure) -> Int {
        while true {
            let count = pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw FileFailure("write", path) }
        }
    }

    func truncate(_ descriptor: CInt, to length: Int, _ path: String) throws(FileFailure) {
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileFailure("ftruncate", path) }
    }

    func synchronizeDirectory(_ path: String) throws(FileFailure) {
        try PrivateFiles.synchronizeDirectory(path)
    }

    func identity(of descriptor: CInt, _ path: String) throws(FileFailure) -> FileIdentity {
        guard let identity = Self.identity(descriptor, "") else { throw FileFailure("statx", path) }
        return identity
    }

    func identity(_ path: String) throws(FileFailure) -> FileIdentity {
        guard let identity = Self.identity(AT_FDCWD, path) else { throw FileFailure("statx", path) }
        return identity
    }

    private static func identity(_ descriptor: CInt, _ path: String) -> FileIdentity? {
        var (device, inode, size): (UInt64, UInt64, UInt64) = (0, 0, 0)
        guard notify_gateway_file_identity(descriptor, path, &device, &inode, &size) == 0 else { return nil }
        return FileIdentity(device: device, inode: inode, size: size)
    }

    func close(_ descriptor: CInt) { _ = Glibc.close(descriptor) }

    func remove(_ path: String) throws(FileFailure) {
        guard unlink(path) == 0 else { throw FileFailure("unlink", path) }
    }

    func freeBytes(at path: String) throws(FileFailure) -> UInt64 {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { throw FileFailure("statvfs", path) }
        return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
    }

    /// Returns the time of the last modification (mtime).
    func modificationTime(of path: String) throws(FileFailure) -> WallTime {
        var status = stat()
        guard stat(path, &status) == 0 else { throw FileFailure("stat", path) }
        // Anybody may set any time.
        return WallTime(seconds: Int64(status.st_mtim.tv_sec)).adding(Int64(status.st_mtim.tv_nsec) / 1000)
    }

    func fileNames(in path: String) throws(FileFailure) -> [String] {
        guard let directory = opendir(path) else { throw FileFailure("opendir", path) }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    func read(_ path: String) throws(FileFailure) -> [UInt8] {
        try read(path, first: Int(JournalSegment.maximumBytes))
    }

    func read(_ path: String, first count: Int) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path)
        defer { reader.close() }
        return try reader.read(from: 0, count: count)
    }

    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path)
        defer { reader.close() }
        return try reader.read(last: count)
    }

    func size(_ path: String) throws(FileFailure) -> UInt64 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw FileFailure("stat", path) }
        return UInt64(status.st_size)
    }

    func truncateDurably(_ path: String, to length: Int) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_WRONLY)
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw FileFailure("ftruncate", path) }
        guard fsync(descriptor) == 0 else { throw FileFailure("fsync", path) }
    }
}
