internal import GatewaySupport

/// The file-system calls of the journal, one method for each, so that tests can inject failures.
///
/// All methods block. While a journal is open, its writer thread makes all calls but `create` and `freeBytes`.
protocol JournalFileSystem: Sendable {
    /// Creates a file of mode 0600 whose writes are on disk when they return. Throws if the name exists.
    func create(_ path: String) throws(FileFailure) -> CInt
    /// Writes some of the bytes at the offset. Returns their number once they are on disk.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: CInt, _ path: String
    ) throws(FileFailure) -> Int
    /// Truncates the open file to the length, which releases the preallocated space after it.
    func truncate(_ descriptor: CInt, to length: Int, _ path: String) throws(FileFailure)
    /// Returns once the directory's entries are on disk.
    func synchronizeDirectory(_ path: String) throws(FileFailure)
    /// Returns the open file's identity and length.
    func identity(of descriptor: CInt, _ path: String) throws(FileFailure) -> FileIdentity
    /// Returns the identity and length of the file at the path. Does not follow a symbolic link.
    func identity(_ path: String) throws(FileFailure) -> FileIdentity
    /// Closes the descriptor.
    func close(_ descriptor: CInt)
    /// Removes the file's name.
    func remove(_ path: String) throws(FileFailure)
    /// Returns the number of bytes that an unprivileged process may still write.
    func freeBytes(at path: String) throws(FileFailure) -> UInt64
    /// Returns the names in the directory, in any order.
    func fileNames(in path: String) throws(FileFailure) -> [String]
    /// Returns the bytes of a segment: all of them, or the first ``JournalSegment/maximumBytes`` of a file that somebody else
    /// has written.
    func read(_ path: String) throws(FileFailure) -> [UInt8]
    /// Returns at most `count` bytes from the beginning of the file.
    func read(_ path: String, first count: Int) throws(FileFailure) -> [UInt8]
    /// Returns at most `count` bytes from the end of the file.
    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8]
    /// Returns the time of the last modification (mtime).
    func modificationTime(of path: String) throws(FileFailure) -> WallTime
    /// Returns the length of the file in bytes.
    func size(_ path: String) throws(FileFailure) -> UInt64
    /// Truncates the file durably.
    func truncateDurably(_ path: String, to length: Int) throws(FileFailure)
}

/// The identity and length of a file. A different identity shows that the file was replaced, a shorter length that it
/// was truncated.
struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    /// The length in bytes.
    let size: UInt64

    /// Creates an identity from its parts.
    init(device: UInt64, inode: UInt64, size: UInt64) {
        self.device = device
        self.inode = inode
        self.size = size
    }

    /// Returns whether both are the same file, regardless of their lengths.
    func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
}
