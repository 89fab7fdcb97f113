internal import Glibc

/// The difference between a segment as it was written and the file at its path.
enum SegmentDamage: Sendable, Hashable, CustomStringConvertible {
    /// No file has the path.
    case missing
    /// Another file has the path.
    case replaced
    /// The file is shorter than what was written to it.
    case truncated(to: UInt64)
    /// The path cannot be looked up, for the reason that the system gives.
    case unreachable(String)

    /// Compares a file as it was written with the one at the path. Returns nil where they are the same.
    ///
    /// A path that leads to the same inode implies a link count of at least 1. A further link is no damage: backups make some.
    init?(of path: String, as written: FileIdentity, files: any JournalFileSystem) {
        do throws(FileFailure) {
            let found = try files.identity(path)
            if !found.isSameFile(as: written) {
                self = .replaced
            } else if found.size < written.size {
                self = .truncated(to: found.size)
            } else {
                return nil
            }
        } catch {
            self = error.code == ENOENT || error.code == ENOTDIR ? .missing : .unreachable(error.description)
        }
    }

    var description: String {
        switch self {
        case .missing: "was deleted"
        case .replaced: "was replaced by another file"
        case .truncated(let size): "was truncated to \(size) bytes"
        case .unreachable(let reason): "cannot be looked up: \(reason)"
        }
    }
}
