internal import Foundation
public import GatewayCore
public import GatewaySupport
public import Logging

/// The audit journal: segments of JSON Lines in one directory, chained by hash and written by one thread.
///
/// Safe to use from any thread. Only `init` blocks. One process at a time may open the directory.
///
/// Every intent gets an outcome. The queue reserves room for the outcome when it admits the intent. If the disk fails,
/// the outcome waits for the next segment. After a crash, the next start writes the missing outcomes.
public final class JournalFile: Journal {
    /// The location and the settings of a journal.
    public struct Configuration: Sendable {
        /// The directory. A missing one is created with mode 0700.
        public var directory: String
        /// The length of a segment in bytes after which a new one is started.
        public var segmentBytes = 64 << 20
        /// The age of a segment after which a new one is started, so that retention by age does not wait for a full
        /// segment.
        public var segmentAge = Duration.seconds(86_400)
        /// The key that signs checkpoints and removals. Without a key there are no checkpoints and no segment is
        /// removed.
        public var signingKey: Ed25519.PrivateKey?
        /// The destination to which checkpoints are copied; nil for none.
        public var checkpointCopy: CheckpointPlace?
        /// How long a segment is kept after its last record.
        public var keep = Duration.seconds(90 * 86_400)
        /// The maximum total size of the segments in bytes. Beyond it the oldest are removed.
        public var keepBytes = 20 << 30
        /// The number of free bytes below which calls are no longer recorded; 0 turns the check off. Records that
        /// complete an intent are written in any case.
        public var minimumFree = 256 << 20
        /// The maximum number of waiting records, including the expected outcomes of admitted intents.
        public var queueLimit = 65_536
        /// The wall clock of the records, and the monotonic clock of all intervals.
        public var clocks: Clocks
        /// The logger for failures and recoveries.
        public var logger: Logger
        /// The journal's metrics.
        public var metrics = JournalMetrics()
        /// The first non-zero wait between attempts to open a segment after a failure. The first attempt does not wait,
        /// and each further wait doubles.
        var shortestDelay = Duration.milliseconds(50)
        /// The maximum wait between such attempts.
        var longestDelay = Duration.seconds(1)
        /// The maximum age of a record that no checkpoint covers.
        var checkpointInterval = Duration.seconds(60)
        /// The interval of retention checks.
        var retentionInterval = Duration.seconds(3600)
        /// The maximum interval between comparisons of the open segment with its file while nothing is written.
        var watchInterval = Duration.seconds(1)
        /// The ledger that stores the last checkpoint; it shows that a journal was replaced or deleted.
        public var ledger: SQLiteLedger?

        /// Creates a configuration with the default settings.
        public init(directory: String, clocks: Clocks = .system, logger: Logger) {
            self.directory = directory
            self.clocks = clocks
            self.logger = logger
        }
    }

    let queue: JournalQueue
    private let metrics: JournalMetrics

    /// Opens the journal, repairs it after a crash, and starts a new segment. Blocks; called at startup.
    ///
    /// Throws if the directory cannot be written, is in use, or contains a damaged journal.
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
            configuration.logger.notice("Journal repaired", metadata: ["records": "\(found.entries.count)"])
        }
        let begun = try Self.begin(found, configuration, files)
        let queue = JournalQueue(limit: configuration.queueLimit)
        self.queue = queue
        metrics = configuration.metrics
        if let loss = found.loss {
            configuration.logger.error(
                "Journal does not match the checkpoint in the ledger", metadata: ["detail": "\(loss)"])
            metrics.missingLines.add(found.missing.map { $0.upperBound - $0.lowerBound + 1 } ?? 1)
            queue.noteLoss(loss)
        }
        let thread = Thread {
            // Created on this thread, to which the writer is confined.
            let writer = JournalWriter(queue: queue, files: files, settings: configuration, begun: begun, lock: lock)
            writer.run()
            Self.end(writer.lock, queue, configuration.logger)
        }
        thread.name = "journal"
        thread.start()
    }

    deinit { queue.requestClose() }

    /// Queues the records and returns once all of them are on disk.
    ///
    /// Throws at once during an outage or if the queue is full, and later if the write fails. An empty list waits for
    /// the records queued before it.
    public func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {
        try await withCheckedContinuation { queue.add(records, JournalWaiter($0)) }.get()
    }

    /// Queues a record without waiting. An expected outcome always has room. Other records are dropped, counted and
    /// reported if the queue is half full.
    public func append(_ record: JournalRecord) { queue.append(record) }

    /// The settings that may change while the journal is open.
    public struct Bounds: Sendable, Hashable {
        /// The number of free bytes below which calls are no longer recorded; 0 turns the check off.
        public var minimumFree: Int
        /// How long a segment is kept after its last record.
        public var keep: Duration
        /// The maximum total size of the segments in bytes.
        public var keepBytes: Int

        /// Creates bounds from their parts.
        public init(minimumFree: Int, keep: Duration, keepBytes: Int) {
            self.minimumFree = minimumFree
            self.keep = keep
            self.keepBytes = keepBytes
        }
    }

    /// Applies new bounds from the next batch on.
    public func adopt(_ bounds: Bounds) { queue.set(bounds) }

    /// The number of records that wait to be written.
    public var waiting: Int { queue.load.queued }

    /// The reason why `record` throws at present; nil if it does not.
    public var outage: JournalUnavailable? { queue.outage }

    /// The last loss of recorded lines detected since the journal was opened, as a sentence; nil without one.
    public var loss: String? { queue.loss }

    /// Checks that the journal can be written: compares the open segment with its file and writes to the disk.
    ///
    /// - Returns: The reason why it cannot be written; nil if it can. Does not return while the disk blocks writes.
    public func check() async -> JournalUnavailable? {
        do throws(JournalUnavailable) {
            try await record([])
            return nil
        } catch {
            return error.isFull ? nil : error
        }
    }

    /// Writes the queued records and a `stop` record, then releases the directory. Rejects records added after the
    /// call.
    public func close() async { await queue.close() }

    /// Returns whether a process has the journal in the directory open. Blocks; intended for commands.
    public static func isOpen(_ directory: String) -> Bool {
        let path = directory + "/lock"
        guard (try? SystemFileSystem().size(path)) != nil else { return false }
        guard let lock = try? LockFile(path) else { return true }
        lock.release()
        return false
    }

    /// The state of a journal directly after it was opened.
    struct Begun: Sendable {
        var segment: JournalSegment
        /// The first batch, which is already on disk in the segment.
        var batch: JournalBatch
        /// The segments before it.
        var closed: ClosedSegments
        /// Created before the first line of this run is written.
        var retentionClock: RetentionClock
    }

    /// Returns the checkpoint stored in the ledger.
    private static func checkpoint(in ledger: SQLiteLedger?) throws(FileFailure) -> KnownCheckpoint? {
        do throws(LedgerUnavailable) {
            return try ledger?.journalCheckpoint()
        } catch {
            throw FileFailure(unfit: "the ledger", "cannot read the journal's last checkpoint: \(error.detail)")
        }
    }

    /// Writes the results of recovery and the `start` record in one batch, so that a `start` on disk proves that the
    /// results are on disk too.
    private static func begin(
        _ found: JournalRecovery.Found, _ configuration: Configuration, _ files: any JournalFileSystem
    ) throws(JournalUnavailable) -> Begun {
        var batch = JournalBatch(
            chain: found.chain,
            signer: configuration.signingKey.map {
                JournalSigner(key: $0, interval: configuration.checkpointInterval)
            })
        batch.open(clocks: configuration.clocks)
        // A checkpoint comes first, because a crash may have left any number of lines without one.
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

    /// Releases the lock before callers that wait for the close resume.
    private static func end(_ lock: LockFile, _ queue: JournalQueue, _ logger: Logger) {
        lock.release()
        let lost = queue.finish()
        if lost > 0 { logger.error("Journal records lost", metadata: ["records": "\(lost)"]) }
    }
}
