internal import Foundation
public import GatewayCore
public import Logging

/// The journal in a directory of its own: segments of JSON Lines, chained by hash, written by one thread.
///
/// Safe to use from any thread and never blocking but in `init`. One process at a time may have the directory open.
///
/// Every intent gets its outcome: room for it is kept in the queue from when the intent is admitted, an outcome that meets a
/// failing disk waits for the next segment, and one that a crash prevents is written at the next start.
public final class JournalFile: Journal {
    /// Where the journal lies and how it is kept.
    public struct Configuration: Sendable {
        /// The directory, made with mode 0700 where it is missing.
        public var directory: String
        /// The length in bytes after which a new segment is begun.
        public var segmentBytes = 64 << 20
        /// The time after which a new segment is begun, so that what is kept for a time does not wait for a segment to be full.
        public var segmentAge = Duration.seconds(86_400)
        /// The key that signs how far the journal goes, and what was removed of it. Without one there are no checkpoints, and no
        /// segment is ever removed.
        public var signingKey: Ed25519.PrivateKey?
        /// Where checkpoints are copied to; nil for nowhere.
        public var checkpointCopy: CheckpointPlace?
        /// How long a segment is kept after its last record.
        public var keep = Duration.seconds(90 * 86_400)
        /// How many bytes the segments may have together; beyond it the oldest go.
        public var keepBytes = 20 << 30
        /// How many bytes must be free for calls to be recorded; 0 never looks. What completes an intent is written below it too.
        public var minimumFree = 256 << 20
        /// How many records may wait, the outcomes of admitted intents included.
        public var queueLimit = 65_536
        /// The time of day for records, the monotonic clock for looking at the free space.
        public var clocks: Clocks
        /// For failures and recoveries.
        public var logger: Logger
        /// Where batches are counted.
        public var metrics = JournalMetrics()
        /// The wait between attempts to open a segment after a failure: at first none, then this, then twice that, and so on.
        var shortestDelay = Duration.milliseconds(50)
        /// The longest such wait.
        var longestDelay = Duration.seconds(1)
        /// How old a record may be that no checkpoint covers.
        var checkpointInterval = Duration.seconds(60)
        /// How often segments are looked at that may have to go.
        var retentionInterval = Duration.seconds(3600)
        /// How often the open segment is compared with its file where nothing is written.
        var watchInterval = Duration.seconds(1)
        /// Where the last checkpoint is kept besides the journal: a journal that was exchanged or wiped is known by it.
        public var ledger: SQLiteLedger?

        /// A journal in the directory, with the defaults.
        public init(directory: String, clocks: Clocks = .system, logger: Logger) {
            self.directory = directory
            self.clocks = clocks
            self.logger = logger
        }
    }

    let queue: JournalQueue
    private let metrics: JournalMetrics

    /// Opens the journal, mends what a crash left of it, and begins a new segment. Blocks; called at start.
    ///
    /// Throws where the directory cannot be written, is open elsewhere, or holds a damaged journal.
    public convenience init(_ configuration: Configuration) throws(JournalUnavailable) {
        try self.init(configuration, files: SystemFileSystem())
    }

    init(_ configuration: Configuration, files: any JournalFileSystem) throws(JournalUnavailable) {
        let directory = configuration.directory
        let lock: LockFile
        var found: JournalRecovery.Found
        do throws(FileFailure) {
            try PrivateFiles.makeDirectory(directory)
            lock = try LockFile(directory + "/lock")
            let recovery = JournalRecovery(directory: directory, files: files)
            found = try recovery.run()
            if let known = try Self.checkpoint(in: configuration.ledger) { try recovery.compare(&found, with: known) }
        } catch {
            throw JournalUnavailable(error.description)
        }
        if !found.entries.isEmpty {
            configuration.logger.notice("journal was mended", metadata: ["records": "\(found.entries.count)"])
        }
        let begun = try Self.begin(found, configuration, files)
        let queue = JournalQueue(limit: configuration.queueLimit)
        self.queue = queue
        metrics = configuration.metrics
        if let loss = found.loss {
            configuration.logger.error("Journal is not the one that the ledger knows", metadata: ["detail": "\(loss)"])
            metrics.missingLines.add(found.missing.map { $0.upperBound - $0.lowerBound + 1 } ?? 1)
            queue.noteLoss(loss)
        }
        let thread = Thread {
            // Made here: the writer belongs to this thread.
            let writer = JournalWriter(queue: queue, files: files, settings: configuration, begun: begun, lock: lock)
            writer.run()
            Self.end(writer.lock, queue, configuration.logger)
        }
        thread.name = "journal"
        thread.start()
    }

    deinit { queue.requestClose() }

    /// Queues the records and returns once one synchronisation has put all of them on disk.
    ///
    /// Throws at once during an outage and where the queue is full, and later where writing fails. An empty list waits for
    /// what was queued before it.
    public func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        try await withCheckedContinuation { queue.add(records, JournalWaiter($0)) }.get()
    }

    /// Queues a record. An expected outcome always finds room; others are dropped, counted and reported where too much waits.
    public func note(_ record: JournalRecord) { queue.note(record) }

    /// What of a journal may change while it is written.
    public struct Bounds: Sendable, Hashable {
        /// How many bytes must be free for calls to be recorded; 0 never looks.
        public var minimumFree: Int
        /// How long a segment is kept after its last record.
        public var keep: Duration
        /// How many bytes the segments may have together.
        public var keepBytes: Int

        /// Bounds from their parts.
        public init(minimumFree: Int, keep: Duration, keepBytes: Int) {
            self.minimumFree = minimumFree
            self.keep = keep
            self.keepBytes = keepBytes
        }
    }

    /// Keeps to other bounds from the next batch on.
    public func adopt(_ bounds: Bounds) { queue.set(bounds) }

    /// How many records wait to be written.
    public var waiting: Int { queue.load.queued }

    /// Why `record` throws at present, or nil.
    public var outage: JournalUnavailable? { queue.outage }

    /// The recorded lines that were found missing last since the journal was opened, as a sentence; nil where none were.
    public var loss: String? { queue.loss }

    /// Looks whether the journal can be written: compares the open segment with its file, and has the disk take a write.
    ///
    /// Returns why it cannot. Does not return while the disk takes no write.
    public func check() async -> JournalUnavailable? {
        do throws(JournalUnavailable) {
            try await record([])
            return nil
        } catch {
            return error.isFull ? nil : error
        }
    }

    /// Writes what is queued and a `stop` record, and gives the directory up. Further records are refused from the call on.
    public func close() async { await queue.close() }

    /// Whether somebody has the journal in the directory open at present. Blocks; for commands.
    public static func isOpen(_ directory: String) -> Bool {
        let path = directory + "/lock"
        guard (try? SystemFileSystem().size(path)) != nil else { return false }
        guard let lock = try? LockFile(path) else { return true }
        lock.release()
        return false
    }

    /// What a journal goes on with once it is open.
    struct Begun: Sendable {
        var segment: JournalSegment
        /// What is in the segment already, and on disk.
        var batch: JournalBatch
        /// The segments before it.
        var closed: ClosedSegments
        /// Begun before the first line of this run was written.
        var retentionClock: RetentionClock
    }

    /// The checkpoint that the ledger knows.
    private static func checkpoint(in ledger: SQLiteLedger?) throws(FileFailure) -> KnownCheckpoint? {
        do throws(LedgerUnavailable) {
            return try ledger?.journalCheckpoint()
        } catch {
            throw FileFailure(unfit: "the ledger", "cannot be asked for the journal's last checkpoint: \(error.detail)")
        }
    }

    /// Writes what recovery found and then the `start`, in one batch: a `start` on disk says that the rest is there as well.
    private static func begin(
        _ found: JournalRecovery.Found, _ configuration: Configuration, _ files: any JournalFileSystem
    ) throws(JournalUnavailable) -> Begun {
        var batch = JournalBatch(
            chain: found.chain,
            signer: configuration.signingKey.map {
                JournalSigner(key: $0, interval: configuration.checkpointInterval)
            })
        batch.open(clocks: configuration.clocks)
        // How many lines a crash left without a checkpoint is not looked for: one before all else covers them.
        if let missing = found.missing { try batch.append(.linesMissing(missing)) }
        if found.chain.next > 1 { try batch.sign() }
        for entry in found.entries + [.start] { try batch.append(entry) }
        do throws(FileFailure) {
            var closed = ClosedSegments(directory: configuration.directory, files: files)
            try closed.addExisting(before: found.chain.next)
            let names = try files.names(in: configuration.directory).compactMap { JournalSegmentName($0) }.sorted()
            let retentionClock = try RetentionClock(
                names, in: configuration.directory, files: files, clocks: configuration.clocks)
            var segment = try JournalSegment(first: found.chain.next, in: configuration.directory, files: files)
            do throws(FileFailure) {
                try segment.append(batch.bytes)
            } catch {
                segment.abandon()
                throw error
            }
            return Begun(segment: segment, batch: batch, closed: closed, retentionClock: retentionClock)
        } catch {
            throw JournalUnavailable(error.description)
        }
    }

    /// Gives the lock up before those who wait for the end are told of it.
    private static func end(_ lock: LockFile, _ queue: JournalQueue, _ logger: Logger) {
        lock.release()
        let lost = queue.finish()
        if lost > 0 { logger.error("journal records are lost", metadata: ["records": "\(lost)"]) }
    }
}
