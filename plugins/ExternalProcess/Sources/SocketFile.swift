#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Checks of the socket's file. Its listener receives passwords, so only root and the gateway's user may own it.
enum SocketFile {
    /// The reason why the socket must not be used.
    enum Fault: Error, Equatable, CustomStringConvertible {
        case absent
        case unreadable(String)
        case notASocket
        case foreign(owner: UInt32)
        case open(mode: UInt32)

        var description: String {
            switch self {
            case .absent: "does not exist; logins are unavailable until the process listens"
            case .unreadable(let reason): "cannot be checked: \(reason)"
            case .notASocket: "is not a Unix socket"
            case .foreign(let owner): "belongs to the user \(owner); it must belong to root or to the gateway's user"
            case .open(let mode):
                "has the mode \(String(mode, radix: 8)), writable by every user; run: chmod o-w"
            }
        }
    }

    /// The size of `sun_path` in unix(7), less its terminating NUL.
    static let maximumPathLength = 107

    /// Whether the path fits into a socket address.
    static func isAddress(_ path: String) -> Bool {
        (1...maximumPathLength).contains(path.utf8.count) && !path.utf8.contains(0)
    }

    /// Returns the problem of the socket at the path, if any. Reads the file system, so never call it on an event
    /// loop.
    static func fault(at path: String) -> Fault? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT ? .absent : .unreadable(String(cString: strerror(errno)))
        }
        return fault(mode: status.st_mode, owner: status.st_uid, ownUser: geteuid())
    }

    /// Returns the problem of a socket with this mode and owner, if any.
    static func fault(mode: UInt32, owner: UInt32, ownUser: UInt32) -> Fault? {
        guard mode & S_IFMT == S_IFSOCK else { return .notASocket }
        guard owner == 0 || owner == ownUser else { return .foreign(owner: owner) }
        // Connecting requires write permission (unix(7)).
        guard mode & S_IWOTH == 0 else { return .open(mode: mode & 0o7777) }
        return nil
    }
}
