/// The file-system calls that the journal makes, one method each, so that each can be made to fail.
///
/// All block. All but `create` and `freeBytes` of one journal are made on its writer thread once it runs.
protocol JournalFileSystem: Sendable {
    /// Makes a new file of mode 0600 to append to; fails where the name is taken.
    func create(_ path: String) throws(FileFailure) -> CInt
    /// Appends some of the bytes and says how many.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt, _ path: String) throws(FileFailure) -> Int
    /// Returns once the file's content is on disk.
    func synchronize(_ descriptor: CInt, _ path: String) throws(FileFailure)
    /// Returns once the directory's names are on disk.
    func synchronizeDirectory(_ path: String) throws(FileFailure)
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
    /// The length of the file in bytes.
    func size(_ path: String) throws(FileFailure) -> UInt64
    /// Cuts the file to the length, durably.
    func truncate(_ path: String, to length: Int) throws(FileFailure)
}
