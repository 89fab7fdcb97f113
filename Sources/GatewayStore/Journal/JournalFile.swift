internal import Foundation
public import GatewayCore
internal import GatewaySupport
internal import Logging

/// The audit journal: segments of JSON Lines in one directory, chained by hash and written by one thread.
///
/// Safe to use from any thread. Only `init` and `isOpen` block. One process at a time may open the directory.
///
/// Every intent gets an outcome. The queue reserves room for the outcome when it admits the intent. If the disk fails,
/// the outcome waits for the next segment. After a crash, the next start writes the missing outcomes.
public final class JournalFile: Journal {
    let queue: JournalQueue
    private let metrics: JournalMetrics
    /// The number of the first line that this process wrote.
    public let firstLine: UInt64

    /// Opens the journal, repairs it after a crash, and starts a new segment. Blocks; called at startup.
    ///
    /// Throws if the directory cannot be written, is in use, or contains a damaged journal.
    public convenience init(_ configuration: Configuration) throws(JournalUnavailable) {
        try self.init(configuration, files: SystemFileSystem())
    }

    init(_ configuration: Configuration, files: any JournalFileSystem) throws(JournalUnavailable) {
        let directory = configuration.directory
        let lock: LockFile
        var found: JournalRecovery.Recovered
        do throws(FileFailure) {
            try PrivateFiles.makeDirectory(directory)
            lock = try LockFile(directory + "/lock")
            let known = try Self.checkpoint(in: configuration.ledger)
            let recovery = JournalRecovery(
                directory: directory, files: files, indexed: configuration.indexedSegments,
                key: configuration.signingKey?.publicKey, known: known)
            found = try recovery.run()
            if let known { try recovery.compare(&found, with: known) }
        } catch {
            throw JournalUnavailable(error.description)
        }
        if !found.entries.isEmpty {
            configuration.logger.notice("Journal repaired", metadata: ["records": "\(found.entries.count)"])
        }
        let opened = try Self.begin(found, configuration, files)
        let queue = JournalQueue(limit: configuration.queueLimit)
        self.queue = queue
        metrics = configuration.metrics
        firstLine = opened.segment.name.first
        configuration.followers.advance(to: opened.batch.chain.next)
        if let loss = found.loss {
            configuration.logger.error(
                "Journal does not match the checkpoint in the ledger", metadata: ["detail": "\(loss)"])
            metrics.missingLines.add(found.missing.map { $0.upperBound - $0.lowerBound + 1 } ?? 1)
            queue.recordLoss(loss)
        }
        let thread = Thread {
            // Created on this thread, to which the writer is confined.
            let writer = JournalWriter(queue: queue, files: files, settings: configuration, opened: opened, lock: lock)
            writer.run()
            Self.release(writer.lock, queue, configuration.logger)
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

    /// Queues the record and returns once it is on disk. Throws as the function for several records does.
    public func record(_ record: JournalRecord) async throws(JournalUnavailable) {
        try await withCheckedContinuation { queue.add(record, JournalWaiter($0)) }.get()
    }

    /// Queues a record without waiting. The outcome of an admitted intent always has room. Once the queue is half full,
    /// other records are dropped, and the journal records how many.
    public func append(_ record: JournalRecord) { queue.append(record) }

    /// Queues the head of another gateway's journal without waiting, as ``append(_:)-(JournalRecord)`` does.
    ///
    /// - Returns: False if it was dropped.
    package func append(_ head: NodeHead) -> Bool { queue.append(.record(of: head)) }

    /// Applies new bounds from the next batch on.
    public func apply(_ bounds: Bounds) { queue.setBounds(bounds) }

    /// The number of records that wait to be written.
    public var waiting: Int { queue.load.queued }

    /// The reason why `record` throws at present; nil if it does not.
    public var outage: JournalUnavailable? { queue.outage }

    /// The last loss of recorded lines detected since the journal was opened, as a sentence; nil without one.
    public var loss: String? { queue.loss }

    /// Checks that the journal can be written: compares the open segment with its file and writes to the disk.
    ///
    /// - Returns: The reason why it cannot be written; nil if it can, or if the queue is full. Does not return while
    ///   the disk blocks writes.
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

    /// Returns whether a process has the journal in the directory open; true if its lock cannot be opened. Blocks;
    /// intended for commands.
    public static func isOpen(_ directory: String) -> Bool {
        let path = directory + "/lock"
        guard (try? SystemFileSystem().size(path)) != nil else { return false }
        guard let lock = try? LockFile(path) else { return true }
        lock.release()
        return false
    }

    /// The state of a journal directly after it was opened.
    struct Opened: Sendable {
        var segment: JournalSegment
        /// The first batch, which is already on disk in the segment.
        var batch: JournalBatch
        /// The earlier segments.
        var closed: ClosedSegments
        /// Decides whether the wall clock can be trusted; created before the first line of this process is written.
        var retentionClock: RetentionClock
    }

    /// Returns the checkpoint stored in the ledger.
    private static func checkpoint(in ledger: (any JournalCheckpointStore)?) throws(FileFailure) -> StoredCheckpoint? {
        do throws(LedgerUnavailable) {
            return try ledger?.journalCheckpoint()
        } catch {
            throw FileFailure(unfit: "the ledger", "cannot read the journal's last checkpoint: \(error.detail)")
        }
    }

    /// Writes the results of recovery and the `start` record in one batch, so that a `start` on disk proves that the
    /// results are on disk too.
    private static func begin(
        _ found: JournalRecovery.Recovered, _ configuration: Configuration, _ files: any JournalFileSystem
    ) throws(JournalUnavailable) -> Opened {
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
            let names = JournalSegmentName.segments(among: try files.fileNames(in: configuration.directory))
            let retentionClock = try RetentionClock(
                names, in: configuration.directory, files: files, clocks: configuration.clocks)
            var segment = try JournalSegment(first: found.chain.next, in: configuration.directory, files: files)
            do throws(FileFailure) {
                try segment.append(batch.bytes)
            } catch {
                segment.abandon()
                throw error
            }
            return Opened(segment: segment, batch: batch, closed: closed, retentionClock: retentionClock)
        } catch {
            throw JournalUnavailable(error.description)
        }
    }

    /// Releases the lock, then resumes the callers that wait for the journal to close.
    private static func release(_ lock: LockFile, _ queue: JournalQueue, _ logger: Logger) {
        lock.release()
        let lost = queue.finish()
        if lost > 0 { logger.error("Journal records lost", metadata: ["records": "\(lost)"]) }
    }
}
