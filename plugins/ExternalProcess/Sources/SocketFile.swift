#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The file of a Unix socket: passwords go to whoever listens there, so not everybody may have put it there.
enum SocketFile {
    /// Why nothing is sent to a socket.
    enum Fault: Error, Equatable, CustomStringConvertible {
        case absent
        case unreadable(String)
        case notASocket
        case foreign(owner: UInt32)
        case open(mode: UInt32)

        var description: String {
            switch self {
            case .absent: "is not there; nobody can log in by it until the process listens"
            case .unreadable(let reason): "cannot be looked at: \(reason)"
            case .notASocket: "is not a Unix socket"
            case .foreign(let owner): "belongs to the user \(owner); it must belong to root or to the gateway's user"
            case .open(let mode):
                "has the mode \(String(mode, radix: 8)), so that everybody may write to it; run: chmod o-w"
            }
        }
    }

    /// `sun_path` of unix(7), less the NUL at its end.
    static let longestPath = 107

    /// Whether the path fits into a socket address.
    static func isAddress(_ path: String) -> Bool {
        (1...longestPath).contains(path.utf8.count) && !path.utf8.contains(0)
    }

    /// What is wrong with the socket at the path, if anything. Looks at the file system; never called on an event loop.
    static func fault(at path: String) -> Fault? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return errno == ENOENT ? .absent : .unreadable(String(cString: strerror(errno)))
        }
        return fault(mode: status.st_mode, owner: status.st_uid, ownUser: geteuid())
    }

    static func fault(mode: UInt32, owner: UInt32, ownUser: UInt32) -> Fault? {
        guard mode & S_IFMT == S_IFSOCK else { return .notASocket }
        guard owner == 0 || owner == ownUser else { return .foreign(owner: owner) }
        // Connecting takes the right to write (unix(7)).
        guard mode & S_IWOTH == 0 else { return .open(mode: mode & 0o7777) }
        return nil
    }
}
