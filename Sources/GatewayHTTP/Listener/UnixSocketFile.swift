internal import NIOCore

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The file of a listening Unix domain socket: made with its mode, removed only while it is still ours.
package struct UnixSocketFile: Sendable {
    /// The bound socket, for `listen`.
    package let descriptor: CInt
    private let path: String
    private let device: dev_t
    private let inode: ino_t

    /// Binds a socket at the path. A socket file that nobody listens on is replaced; anything else there is an error.
    ///
    /// Makes blocking calls: for a thread that may wait.
    package static func make(path: String, mode: UInt32) throws -> UnixSocketFile {
        let address = try SocketAddress(unixDomainSocketPath: path)
        try removeStale(path, address: address)
        let descriptor = try makeSocket()
        do {
            // Linux makes the file with the descriptor's mode less the umask: never wider than asked, not even for a moment.
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

    /// Removes the file, unless another one has taken its place.
    package func remove() {
        guard let status = try? Self.status(of: path), status.st_dev == device, status.st_ino == inode else { return }
        unlink(path)
    }

    private static func removeStale(_ path: String, address: SocketAddress) throws {
        guard let status = try? status(of: path) else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw ListenerError.notASocket(path: path) }
        let descriptor = try makeSocket()
        defer { close(descriptor) }
        // Only a refused connection says that nobody listens; any other failure may be a living listener's.
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

/// Why a Unix socket's path cannot be listened on.
public enum ListenerError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Something that is no socket has the path; it is left as it is.
    case notASocket(path: String)
    /// Another process listens there.
    case inUse(path: String)

    /// What to do about it, in words for an operator.
    public var description: String {
        switch self {
        case .notASocket(let path): "\(path) is not a socket; move it away or choose another path"
        case .inUse(let path): "another process listens on \(path)"
        }
    }
}
