internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// Writes batches to the segments. Confined to one thread; `run` returns when the journal is closed.
///
/// Queued records are written as one batch (up to ``batchBytes``) with one synchronization, then their callers resume.
/// Records that arrive meanwhile form the next batch, so at low load a record waits for no other.
final class JournalWriter {
    let queue: JournalQueue
    let files: any JournalFileSystem
    var settings: JournalFile.Configuration
    /// The end of the chain, and the state of signing. Both advance only when a batch is on disk.
    var chain: JournalChain
    var signer: JournalSigner?
    /// The segment in use; nil during an outage.
    var segment: JournalSegment?
    /// The number of records rejected in the present outage.
    var rejectedRecords = 0
    /// The wait before the next attempt to open a segment.
    var retryDelay = Duration.zero
    /// The lock on the journal's directory.
    var lock: LockFile
    /// The segments to which nothing is written any more.
    var closedSegments: ClosedSegments
    /// Lost lines that are not yet recorded in the journal.
    var unrecordedLosses: [ClosedSegments.Loss] = []
    /// Lost lines that are recorded in the journal, with the number of the recording line.
    var recordedLosses: [(loss: ClosedSegments.Loss, number: UInt64)] = []
    /// The time of the last comparison of closed segments with their files.
    var lastClosedCheck: MonotonicInstant?
    /// The time of the last retention check.
    var lastRetentionCheck: MonotonicInstant?
    /// The time of the last retention check by age.
    var lastAgeCheck: MonotonicInstant?
    /// Decides whether the wall clock can be trusted.
    var retentionClock: RetentionClock
    /// Whether the log already reports that the clock is not trusted.
    var hasReportedDistrust = false
    /// The file that the gateway did not write and that the log reports; nil without one.
    var reportedForeignFile: String?
    /// The times of the signed lines with which the oldest segments end, cached to avoid reading them again.
    var signedTails: [JournalSegmentName: WallTime] = [:]
    /// The batch being assembled; reused.
    var batch: JournalBatch
    private var preallocation = SegmentPreallocation()
    private let copiers: [CheckpointCopier]
    /// The time at which the current segment was started, for its maximum age.
    var segmentStarted: MonotonicInstant
    /// The time of the last check of free disk space; nil makes the next `checkSpace()` check at once.
    var lastSpaceCheck: MonotonicInstant?
    /// Whether less than the configured minimum of disk space was free at the last check, or the check failed. Until
    /// space is free, records are rejected, and the number of dropped notes is not recorded.
    var isShortOfSpace = false

    /// A batch gets no further records once it has this many bytes. A crash during a write therefore tears at most this
    /// many bytes, the records of one call and a checkpoint.
    static let batchBytes = 4 << 20

    /// Creates the writer.
    ///
    /// - Parameters:
    ///   - opened: What opening the journal produced. Its first batch is already on disk.
    ///   - lock: The lock held on the directory.
    init(
        queue: JournalQueue, files: any JournalFileSystem, settings: JournalFile.Configuration,
        opened: JournalFile.Opened, lock: LockFile
    ) {
        let batch = opened.batch
        self.lock = lock
        closedSegments = opened.closed
        retentionClock = opened.retentionClock
        self.queue = queue
        self.files = files
        self.settings = settings
        segment = opened.segment
        self.batch = batch
        chain = batch.chain
        signer = batch.signer
        segmentStarted = batch.now
        copiers = settings.checkpointSinks.map { CheckpointCopier($0, logger: settings.logger) }
        advance(past: batch)
    }

    /// Writes batches until the journal is closed, then writes a `stop` record and returns.
    func run() {
        checkSpace()
        enforceRetention()
        while true {
            if segment == nil {
                queue.sleep(atMost: retryDelay)
                repair()
            } else {
                queue.waitForWork(atMost: idleTimeout)
            }
            if let bounds = queue.dequeueBounds() { apply(bounds) }
            // Read this before emptying the queue. After a close request only notes are added, and `dequeueAll()` below
            // returns the last of them.
            let isClosing = queue.isClosing
            // Try once more after the close request, even if earlier attempts failed.
            if isClosing, segment == nil { repair() }
            if segment != nil {
                checkSpace()
                inspectClosedSegments()
            }
            if segment != nil {
                let (items, dropped) = queue.dequeueAll()
                write(items, dropped: dropped)
                if items.isEmpty { inspectOpenSegment() }
                if !isClosing { enforceRetention() }
            }
            if isClosing { return finish() }
        }
    }

    /// The longest time for which an idle writer may sleep: until the next checkpoint, space check, retention check or
    /// comparison of the open segment with its file.
    private var idleTimeout: Duration? {
        var waits = [settings.watchInterval]
        if isShortOfSpace { waits.append(settings.maximumRetryDelay) }
        if let signer {
            // The minimum prevents a busy loop while the clock does not advance.
            let due = signer.timeUntilDue(now: settings.clocks.monotonic())
            if let due { waits.append(max(due, .milliseconds(1))) }
            waits.append(settings.retentionInterval)
        }
        return waits.min()
    }

    private func finish() {
        // Record losses since the last check before the journal is closed.
        lastClosedCheck = nil
        inspectClosedSegments()
        write([JournalQueue.Item(JournalRecord(.stop))], dropped: 0, last: true)
        if segment == nil {
            // The segment is damaged. Record the loss and the stop in another one.
            repair()
            if segment != nil {
                let (items, dropped) = queue.dequeueAll()
                write(items, dropped: dropped, last: true)
            }
        }
        segment?.close()
        segment = nil
        for copier in copiers { copier.close() }
    }

    private func write(_ items: [JournalQueue.Item], dropped: Int, last: Bool = false) {
        var rest = items[...]
        var dropped = dropped
        while segment != nil, !rest.isEmpty || (dropped > 0 && !isShortOfSpace) || isCheckpointDue {
            do throws(JournalUnavailable) {
                rest = try writeBatch(rest, dropped: dropped, last: last)
                dropped = isShortOfSpace ? dropped : 0
                if !last { try preallocate() }
            } catch {
                fail(error, unwritten: Array(rest), dropped: dropped)
                return
            }
        }
        if dropped > 0 || !rest.isEmpty { queue.requeue(Array(rest), dropped: dropped) }
    }

    /// Writes one batch and resumes its callers.
    ///
    /// - Parameters:
    ///   - dropped: The number of notes (records that no caller waits for) dropped since the journal last recorded such
    ///     a number.
    ///   - last: Whether the journal is being closed, so that the last batch ends with a checkpoint.
    /// - Returns: The items that did not fit.
    private func writeBatch(
        _ items: ArraySlice<JournalQueue.Item>, dropped: Int, last: Bool
    ) throws(JournalUnavailable) -> ArraySlice<JournalQueue.Item> {
        try rotateIfDue()
        beginBatch()
        if dropped > 0, !isShortOfSpace { try batch.append(.recovered(.notesDropped, count: dropped)) }
        var rest = items
        while let item = rest.first, batch.bytes.count < Self.batchBytes {
            try batch.append(item.entry)
            rest = rest.dropFirst()
        }
        if isCheckpointDue || (last && rest.isEmpty) { try batch.sign() }
        try commitBatch()
        JournalWaiter.resume(.success(()), for: items[..<rest.startIndex])
        return rest
    }

    /// Starts a batch at the end of the chain.
    func beginBatch() {
        batch.chain = chain
        batch.signer = signer
        batch.open(clocks: settings.clocks)
    }

    /// Writes the batch to disk, then advances the chain. If the batch is empty, only tests that the disk accepts
    /// writes.
    ///
    /// The segment is compared with its file before and after the write. Before, because a write to a truncated file
    /// would fill the gap and hide the truncation. After, so that no caller is told that its record is safe in a file
    /// that was removed.
    func commitBatch() throws(JournalUnavailable) {
        try requireIntactSegment()
        if batch.bytes.isEmpty {
            do throws(FileFailure) {
                try segment?.testWrite()
            } catch {
                throw JournalUnavailable(error.description)
            }
        } else {
            let start = settings.clocks.monotonic().nanoseconds
            do throws(FileFailure) {
                try segment?.append(batch.bytes)
                let time = settings.clocks.monotonic().nanoseconds - start
                settings.metrics.syncTimes.observe(time)
                preallocation.wroteBatch(in: time)
                settings.metrics.batchLines.observe(Int64(clamping: batch.chain.next &- chain.next))
            } catch {
                settings.metrics.failures.add()
                throw JournalUnavailable(error.description)
            }
            try requireIntactSegment()
        }
        advance(past: batch)
    }

    /// Preallocates space for the next batches after the callers of this batch have been resumed.
    private func preallocate() throws(JournalUnavailable) {
        guard segment?.needsPreallocation(preallocation.step, upTo: settings.segmentBytes) == true else { return }
        try requireIntactSegment()
        let start = settings.clocks.monotonic().nanoseconds
        do throws(FileFailure) {
            try segment?.preallocate(preallocation.step)
        } catch {
            throw JournalUnavailable(error.description)
        }
        preallocation.preallocated(in: settings.clocks.monotonic().nanoseconds - start)
    }

    /// Advances the chain and the signer to the end of a batch that is on disk, and queues its checkpoints for copying.
    func advance(past batch: JournalBatch) {
        chain = batch.chain
        signer = batch.signer
        settings.followers.advance(to: chain.next)
        for line in batch.checkpoints { for copier in copiers { copier.add(line) } }
    }

    private var isCheckpointDue: Bool {
        signer?.timeUntilDue(now: settings.clocks.monotonic()).map { $0 <= .zero } ?? false
    }
}
