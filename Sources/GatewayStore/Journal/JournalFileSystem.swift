internal import GatewayCore

/// The file-system calls that the journal makes, one method each, so that each can be made to fail.
///
/// All block. All but `create` and `freeBytes` of one journal are made on its writer thread once it runs.
protocol JournalFileSystem: Sendable {
    /// Makes a new file of mode 0600 of which each write is on disk when it returns; fails where the name is taken.
    func create(_ path: String) throws(FileFailure) -> CInt
    /// Writes some of the bytes at the offset and says how many; those are on disk when this returns.
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: CInt, _ path: String
    ) throws(FileFailure) -> Int
    /// Cuts the open file to the length, and gives back what was taken behind it.
    func cut(_ descriptor: CInt, to length: Int, _ path: String) throws(FileFailure)
    /// Returns once the directory's names are on disk.
    func synchronizeDirectory(_ path: String) throws(FileFailure)
    /// The open file's identity and length.
    func identity(of descriptor: CInt, _ path: String) throws(FileFailure) -> FileIdentity
    /// The identity and length of the file at the path; a symbolic link is not followed.
    func identity(_ path: String) throws(FileFailure) -> FileIdentity
    /// Gives the descriptor back.
    func close(_ descriptor: CInt)
    /// Takes the name away.
    func remove(_ path: String) throws(FileFailure)
    /// How many bytes an unprivileged process may still write.
    func freeBytes(at path: String) throws(FileFailure) -> UInt64
    /// The names in the directory, in no order.
    func names(in path: String) throws(FileFailure) -> [String]
    /// All bytes of the file.
    func read(_ path: String) throws(FileFailure) -> [UInt8]
    /// The last bytes of the file, so many at most.
    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8]
    /// When the file was written to last.
    func modified(_ path: String) throws(FileFailure) -> WallTime
    /// The length of the file in bytes.
    func size(_ path: String) throws(FileFailure) -> UInt64
    /// Cuts the file to the length, durably.
    func truncate(_ path: String, to length: Int) throws(FileFailure)
}
