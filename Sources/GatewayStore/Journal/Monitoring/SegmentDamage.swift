internal import GatewaySupport
internal import Glibc

/// A difference between a segment as written and the file at its path.
enum SegmentDamage: Sendable, Hashable, CustomStringConvertible {
    /// No file exists at the path.
    case missing
    /// Another file exists at the path.
    case replaced
    /// The file is shorter than the data written to it.
    case truncated(to: UInt64)
    /// The path cannot be resolved, for the system's reason.
    case unreachable(String)

    /// Compares the written file with the one at the path; nil if they are the same.
    ///
    /// A path that leads to the same inode implies a link count of at least 1. A further link, which some backups
    /// create, is not damage.
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
