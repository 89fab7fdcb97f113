internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The file of a listening Unix domain socket. It is created with its final mode, and removed only if it was not
/// replaced.
package struct UnixSocketFile: Sendable {
    /// The file descriptor of the bound socket, which does not listen yet. The caller owns it; `remove()` does not
    /// close it.
    package let descriptor: CInt
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Binds a socket at the path. A stale socket file is replaced; any other existing file is an error.
    ///
    /// Makes blocking calls; do not call on an event loop.
    package static func make(path: String, mode: UInt32) throws -> UnixSocketFile {
        let address = try SocketAddress(unixDomainSocketPath: path)
        try removeStale(path, address: address)
        let descriptor = try makeSocket()
        do {
            // Linux derives the file's mode from the descriptor's mode and the umask, so the mode is never too
            // permissive.
            try check(fchmod(descriptor, mode), "fchmod")
            try check(address.withSockAddr { bind(descriptor, $0, socklen_t($1)) }, "bind")
            try check(chmod(path, mode), "chmod")
            let status = try status(of: path)
            return UnixSocketFile(descriptor: descriptor, path: path, device: status.st_dev, inode: status.st_ino)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Removes the file, unless another file has replaced it.
    package func remove() {
        guard let status = try? Self.status(of: path), status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    private static func removeStale(_ path: String, address: SocketAddress) throws {
        guard let status = try? status(of: path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw ListenerError.notASocket(path: path) }
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        // Only ECONNREFUSED proves that no process listens. Any other error may come from a live listener.
        let isRejected = address.withSockAddr { connect(descriptor, $0, socklen_t($1)) } == -1 && errno == ECONNREFUSED
        guard isRejected else { throw ListenerError.inUse(path: path) }
        try check(unlink(path), "unlink")
    }

    private static func makeSocket() throws -> CInt {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        try check(descriptor, "socket")
        return descriptor
    }

    private static func status(of path: String) throws -> stat {
        var status = stat()
        try check(lstat(path, &status), "lstat")
        return status
    }

    private static func check(_ result: CInt, _ call: String) throws {
        if result == -1 { throw IOError(errnoCode: errno, reason: call) }
    }
}

/// The reasons why a Unix socket cannot be created at a path.
public enum ListenerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path exists and is not a socket. The file is not changed.
    case notASocket(path: String)
    /// Another process listens on the path.
    case inUse(path: String)

    /// The problem and its solution, for an operator.
    public var description: String {
        switch self {
        case .notASocket(let path): "\(path) is not a socket; move it away or choose another path"
        case .inUse(let path): "another process listens on \(path)"
        }
    }
}
