internal import Foundation
internal import GRDB
internal import GatewayCore

/// Finds lines of the journal by what they say: a SQLite file beside the segments, made from them and from nothing else.
///
/// Never the truth: it says where a line lies, and the line itself is read from its segment. It can be thrown away at any time;
/// one that does not fit the segments is. Safe to use from any thread, and from several processes at once.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    let database: DatabasePool

    /// The index cannot be used, or the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was tried, and what the system or SQLite says of it.
        public let description: String

        init(_ error: any Error) {
            description =
                (error as? Failure)?.description ?? (error as? DatabaseError).map(DatabaseMessage.of) ?? "\(error)"
        }
        init(_ description: String) { self.description = description }
    }

    /// Its file in the journal's directory.
    static let fileName = "index.sqlite"

    /// Opens the index of the journal in the directory, or makes an empty one. Blocks.
    public convenience init(directory: String) throws(Failure) {
        try self.init(SegmentFiles(directory: directory))
    }

    init(_ files: SegmentFiles) throws(Failure) {
        self.files = files
        let path = "\(files.directory)/\(Self.fileName)"
        do {
            database = try Self.open(path)
        } catch {
            // Damaged, of another version, or of another owner: made anew, since nothing is in it that is not in the segments.
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            do { database = try Self.open(path) } catch { throw Failure(error) }
        }
    }

    /// Waits for work under way and closes the file. Blocks.
    public func close() { try? database.close() }

    private static func open(_ path: String) throws -> DatabasePool {
        try PrivateFiles.makeFile(path)
        var configuration = Configuration()
        configuration.label = "audit"
        configuration.maximumReaderCount = 2
        // Another process may be bringing the index up to date, which takes a while the first time.
        configuration.busyMode = .timeout(60)
        let pool = try DatabasePool(path: path, configuration: configuration)
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
        try pool.write { try AuditSchema.prepare($0) }
        return pool
    }
}
