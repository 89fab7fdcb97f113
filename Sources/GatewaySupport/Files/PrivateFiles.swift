internal import Glibc

/// Files and directories that only the gateway's user may read. All functions block.
package enum PrivateFiles {
    /// Creates the directory and its missing parents with mode 0700. Throws if an existing directory is writable by
    /// everybody.
    ///
    /// - Returns: The paths of the directories that it created, the outermost first.
    @discardableResult
    package static func makeDirectory(_ path: String) throws(FileFailure) -> [String] {
        var status = stat()
        if stat(path, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else { throw FileFailure(unfit: path, "is not a directory") }
            guard status.st_mode & 0o002 == 0 else { throw FileFailure(unfit: path, "is writable by everybody") }
            return []
        }
        guard errno == ENOENT else { throw FileFailure("stat", path) }
        let parent = parent(of: path)
        let parents = parent != path && access(parent, F_OK) != 0 ? try makeDirectory(parent) : []
        let isNew = mkdir(path, 0o700) == 0
        guard isNew || errno == EEXIST else { throw FileFailure("mkdir", path) }
        try synchronizeDirectory(parent)
        return parents + (isNew ? [path] : [])
    }

    /// Creates an empty file of mode 0600 if none exists. Throws if an existing file is accessible to others.
    ///
    /// - Returns: Whether the file is new.
    @discardableResult
    package static func makeFile(_ path: String) throws(FileFailure) -> Bool {
        let made = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        if made >= 0 {
            close(made)
            try synchronizeDirectory(parent(of: path))
            return true
        }
        guard errno == EEXIST else { throw FileFailure("create", path) }
        close(try openPrivate(path))
        return false
    }

    /// Renames a file durably; replaces an existing target.
    package static func rename(_ path: String, to target: String) throws(FileFailure) {
        guard Glibc.rename(path, target) == 0 else { throw FileFailure("rename", path) }
        try synchronizeDirectory(parent(of: target))
    }

    /// Removes a file if it exists.
    package static func remove(_ path: String) throws(FileFailure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("unlink", path) }
    }

    /// Returns the bytes of a file; nil if it does not exist. Throws if it is accessible to others.
    package static func read(_ path: String, atMost limit: Int) throws(FileFailure) -> [UInt8]? {
        let descriptor: CInt
        do {
            descriptor = try openPrivate(path)
        } catch {
            if error.code == ENOENT { return nil }
            throw error
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: limit + 1)
        var filled = 0
        while filled < bytes.count {
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled)
            }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw FileFailure("read", path) }
            if got == 0 { break }
            filled += got
        }
        guard filled <= limit else { throw FileFailure(unfit: path, "is longer than \(limit) bytes") }
        return Array(bytes.prefix(filled))
    }

    /// Writes a new file of mode 0600 atomically. Once this returns, the file survives a power failure. If it throws,
    /// no draft with the bytes stays behind.
    package static func write(_ bytes: [UInt8], toNew path: String) throws(FileFailure) {
        try AtomicFile.write(bytes, to: path, draft: path + ".new", .new)
        try synchronizeDirectory(parent(of: path))
    }

    /// Synchronizes the directory's entries to disk.
    package static func synchronizeDirectory(_ path: String) throws(FileFailure) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileFailure("fsync", path) }
    }

    /// Returns the directory of the path's last component.
    package static func parent(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.utf8.startIndex ? "/" : String(path[..<slash])
    }

    /// Opens a regular file without following a symbolic link, and never waits for the other end of a FIFO. A FIFO
    /// that the service's user made must not make a command of root wait.
    ///
    /// - Parameter mode: The mode of a file that `O_CREAT` creates.
    package static func openRegular(_ path: String, _ flags: CInt, mode: UInt32 = 0o600) throws(FileFailure) -> CInt {
        let descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode)
        guard descriptor >= 0 else {
            // open(2) of a FIFO without a reader, and of a socket.
            guard errno == ENXIO else { throw FileFailure("open", path) }
            throw FileFailure(unfit: path, "is not a regular file")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw FileFailure(unfit: path, "is not a regular file")
        }
        return descriptor
    }

    private static func openPrivate(_ path: String) throws(FileFailure) -> CInt {
        let descriptor = try openRegular(path, O_RDONLY)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & 0o027 == 0 else {
            close(descriptor)
            throw FileFailure(unfit: path, "is accessible to other users; make it mode 0600")
        }
        return descriptor
    }

    private static func close(_ descriptor: CInt) { _ = Glibc.close(descriptor) }
}

/// A failed system call on a file, or a file that does not meet the requirements.
package struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, the path and the system's message.
    package let description: String
    /// The system's error number; 0 if no system call failed.
    package let code: CInt

    /// Whether the file does not exist.
    package var isMissing: Bool { code == ENOENT }

    /// The system's message without the operation and the path.
    var systemMessage: String { String(cString: strerror(code)) }

    /// Creates a failure from the system call that set `errno` last.
    package init(_ operation: String, _ path: String, code: CInt = errno) {
        description = "\(operation) \(path): \(String(cString: strerror(code)))"
        self.code = code
    }

    /// Creates a failure for an existing file that cannot be used.
    package init(unfit path: String, _ reason: String) {
        description = "\(path) \(reason)"
        code = 0
    }
}
