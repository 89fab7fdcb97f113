internal import Foundation
internal import GRDB
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// A SQLite index of the journal's lines, stored beside the segments and built from them only.
///
/// The index holds positions, not content: each line is read from its segment, and the index can be deleted at any
/// time. A database that was not closed cleanly, or does not match the segments, is removed and rebuilt. Every function
/// throws if the database is damaged, and ``AuditTrail`` then reads the segments instead. Safe to use from any thread,
/// and from several processes at once.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    let database: DatabaseQueue
    private let indexFiles: IndexFiles
    private let isDamaged = Atomic(false)

    /// The error thrown if the index cannot be used or the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failed operation, and the message of the system or of SQLite.
        public let description: String
        /// Whether the database itself is damaged, so that a rebuilt one would work.
        let isDamage: Bool

        init(_ error: any Error) {
            switch error {
            case let failure as Failure: self = failure
            case let error as DatabaseError:
                description = DatabaseMessage.text(for: error)
                isDamage = !Self.passing.contains(error.resultCode.primaryResultCode)
            case let error as RowDecodingError:
                description = "unexpected value in a row: \(error)"
                isDamage = true
            default:
                description = "\(error)"
                isDamage = false
            }
        }

        init(_ description: String, isDamage: Bool = false) {
            self.description = description
            self.isDamage = isDamage
        }

        /// The result codes that do not show damage, such as a full disk or a lock held by another process.
        private static let passing: [ResultCode] = [
            .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL, .SQLITE_NOMEM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM,
            .SQLITE_INTERRUPT, .SQLITE_ABORT,
        ]
    }

    /// The name of the database file in the journal's directory.
    static let fileName = "index.sqlite"

    /// Opens the index of the journal in the directory, or creates an empty one. Blocks.
    /// For tests and benchmarks; an `AuditTrail` opens its index with its own `SegmentFiles`.
    public convenience init(directory: String) throws(Failure) {
        try self.init(SegmentFiles(directory: directory))
    }

    init(_ files: SegmentFiles) throws(Failure) {
        self.files = files
        do {
            (indexFiles, database) = try Self.open(files.directory)
        } catch  where Failure(error).isDamage {
            // The first attempt closed the database as damaged, which removes it unless another process uses it.
            do { (indexFiles, database) = try Self.open(files.directory) } catch { throw Failure(error) }
        } catch {
            throw Failure(error)
        }
    }

    deinit { close() }

    /// Waits for running operations, closes the database, and writes the clean shutdown marker. Removes a damaged
    /// database. Blocks.
    public func close() {
        var isGood = !isDamaged.load(ordering: .acquiring)
        do { try database.close() } catch { isGood = false }
        indexFiles.close(keeping: isGood) { [path = indexFiles.database] in
            // A killed process leaves its write-ahead log behind.
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        }
    }

    /// Marks the database as damaged, so that ``close()`` removes it.
    func markDamaged() { isDamaged.store(true, ordering: .releasing) }

    /// Whether this or another process found the database damaged.
    var isMarkedDamaged: Bool { isDamaged.load(ordering: .acquiring) || indexFiles.isMarkedDamaged }

    /// Runs the change in one write transaction.
    func write<Result>(_ change: (Database) throws -> Result) throws -> Result {
        try indexFiles.beginWriting()
        return try database.write(change)
    }

    private static func open(_ directory: String) throws -> (IndexFiles, DatabaseQueue) {
        let indexFiles = try IndexFiles(directory: directory)
        do {
            return (indexFiles, try open(indexFiles))
        } catch {
            indexFiles.close(keeping: !Failure(error).isDamage)
            throw error
        }
    }

    private static func open(_ indexFiles: IndexFiles) throws -> DatabaseQueue {
        let path = indexFiles.database
        if try PrivateFiles.makeFile(path) { IndexFiles.assignToDirectoryOwner(path) }
        var configuration = Configuration()
        configuration.label = "audit"
        // Another process may be updating the index. The first update takes a while.
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            // GRDB's pool would set WAL mode with a write to each database that it opens. A process that only queries
            // must not write.
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        do {
            if try queue.read({ try AuditSchema.isMissing(in: $0) }) {
                try indexFiles.beginWriting()
                try queue.write { try AuditSchema.prepare($0) }
            }
        } catch {
            try? queue.close()
            throw error
        }
        return queue
    }
}
