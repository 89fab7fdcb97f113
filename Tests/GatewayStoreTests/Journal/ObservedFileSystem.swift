import Synchronization

@testable import GatewayStore
@testable import GatewaySupport

/// The system's file system. Notes which files are read whole, and may add a name to listings whose file does not exist.
final class ObservedFileSystem: JournalFileSystem {
    private let also: String?
    /// The names of the files that were read.
    let readNames = Mutex<[String]>([])
    private let files = SystemFileSystem()

    init(also: String? = nil) { self.also = also }

    func create(_ path: String) throws(FileFailure) -> CInt { try files.create(path) }
    func write(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, to descriptor: CInt, _ path: String
    ) throws(FileFailure) -> Int { try files.write(bytes, at: offset, to: descriptor, path) }
    func truncate(_ descriptor: CInt, to length: Int, _ path: String) throws(FileFailure) {
        try files.truncate(descriptor, to: length, path)
    }
    func synchronizeDirectory(_ path: String) throws(FileFailure) { try files.synchronizeDirectory(path) }
    func identity(of descriptor: CInt, _ path: String) throws(FileFailure) -> FileIdentity {
        try files.identity(of: descriptor, path)
    }
    func identity(_ path: String) throws(FileFailure) -> FileIdentity { try files.identity(path) }
    func close(_ descriptor: CInt) { files.close(descriptor) }
    func remove(_ path: String) throws(FileFailure) { try files.remove(path) }
    func freeBytes(at path: String) throws(FileFailure) -> UInt64 { try files.freeBytes(at: path) }
    func fileNames(in path: String) throws(FileFailure) -> [String] {
        try files.fileNames(in: path) + [also].compactMap(\.self)
    }
    func read(_ path: String) throws(FileFailure) -> [UInt8] {
        readNames.withLock { $0.append(String(path.split(separator: "/").last ?? "")) }
        return try files.read(path)
    }
    func read(_ path: String, first count: Int) throws(FileFailure) -> [UInt8] { try files.read(path, first: count) }
    func read(_ path: String, last count: Int) throws(FileFailure) -> [UInt8] { try files.read(path, last: count) }
    func modificationTime(of path: String) throws(FileFailure) -> WallTime { try files.modificationTime(of: path) }
    func size(_ path: String) throws(FileFailure) -> UInt64 { try files.size(path) }
    func truncateDurably(_ path: String, to length: Int) throws(FileFailure) {
        try files.truncateDurably(path, to: length)
    }
}
