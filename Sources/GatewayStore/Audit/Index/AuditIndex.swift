internal import Foundation
internal import GRDB
internal import GatewayCore
internal import Synchronization

/// Finds lines of the journal by what they say: a SQLite file beside the segments, made from them and from nothing else.
///
/// Never the truth: it says where a line lies, and the line itself is read from its segment. It can be thrown away at any time.
/// A database that was not closed in order, or does not fit the segments, is removed and made anew. Every function throws where the
/// database is damaged, and none traps; ``AuditTrail`` then answers from the segments. Safe to use from any thread, and from several
/// processes at once.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    let database: DatabaseQueue
    private let place: IndexFiles
    private let isDamaged = Atomic(false)

    /// The index cannot be used, or the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// What was tried, and what the system or SQLite says of it.
        public let description: String
        /// Whether the database is at fault, so that one made anew would do.
        let isDamage: Bool

        init(_ error: any Error) {
            switch error {
            case let failure as Failure: self = failure
            case let error as DatabaseError:
                description = DatabaseMessage.of(error)
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

        /// The result codes that say nothing against the database: a full disk, another process that takes long.
        private static let passing: [ResultCode] = [
            .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_FULL, .SQLITE_NOMEM, .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM,
            .SQLITE_INTERRUPT, .SQLITE_ABORT,
        ]
    }

    /// Its file in the journal's directory.
    static let fileName = "index.sqlite"

    /// Opens the index of the journal in the directory, or makes an empty one. Blocks.
    public convenience init(directory: String) throws(Failure) {
        try self.init(SegmentFiles(directory: directory))
    }

    init(_ files: SegmentFiles) throws(Failure) {
        self.files = files
        do {
            (place, database) = try Self.open(files.directory)
        } catch  where Failure(error).isDamage {
            // Closed as damaged by the first attempt, and so removed unless another process uses it.
            do { (place, database) = try Self.open(files.directory) } catch { throw Failure(error) }
        } catch {
            throw Failure(error)
        }
    }

    deinit { close() }

    /// Waits for work under way, closes the file, and says on disk that it was closed in order. A damaged one is removed. Blocks.
    public func close() {
        var isGood = !isDamaged.load(ordering: .acquiring)
        do { try database.close() } catch { isGood = false }
        place.close(keeping: isGood) { [path = place.database] in
            // A process that was killed leaves its log.
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        }
    }

    /// Remembers that the database is damaged: `close` removes it.
    func markDamaged() { isDamaged.store(true, ordering: .releasing) }

    /// Whether this or another process found the database damaged.
    var isMarkedDamaged: Bool { isDamaged.load(ordering: .acquiring) || place.isMarkedDamaged }

    /// Writes within one transaction.
    func write<Result>(_ change: (Database) throws -> Result) throws -> Result {
        try place.beginWriting()
        return try database.write(change)
    }

    private static func open(_ directory: String) throws -> (IndexFiles, DatabaseQueue) {
        let place = try IndexFiles(directory: directory)
        do {
            return (place, try open(place))
        } catch {
            place.close(keeping: !Failure(error).isDamage)
            throw error
        }
    }

    private static func open(_ place: IndexFiles) throws -> DatabaseQueue {
        let path = place.database
        if try PrivateFiles.makeFile(path) { IndexFiles.giveToOwner(path) }
        var configuration = Configuration()
        configuration.label = "audit"
        // Another process may be bringing the index up to date, which takes a while the first time.
        configuration.busyMode = .timeout(60)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            // Set here and not by a pool, which writes to each database that it opens: whoever only asks leaves it as it was.
            try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF")
        }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        do {
            if try queue.read({ try AuditSchema.isMissing(in: $0) }) {
                try place.beginWriting()
                try queue.write { try AuditSchema.prepare($0) }
            }
        } catch {
            try? queue.close()
            throw error
        }
        return queue
    }
}
