internal import Glibc

/// The identity and length of a file. A different identity shows that the file was replaced, a shorter length that it
/// was truncated.
struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    /// The length in bytes.
    let size: UInt64

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = UInt64(status.st_size)
    }

    /// Creates an identity from its parts.
    init(device: UInt64, inode: UInt64, size: UInt64) {
        self.device = device
        self.inode = inode
        self.size = size
    }

    /// Returns whether both are the same file, regardless of their lengths.
    func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
}
