internal import Glibc

/// The file behind a path or a descriptor, and its length: what stays the same as long as nobody exchanges or cuts the file.
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

    /// An identity from its parts.
    init(device: UInt64, inode: UInt64, size: UInt64) {
        self.device = device
        self.inode = inode
        self.size = size
    }

    /// Whether both are the same file, whatever its length is.
    func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
}
