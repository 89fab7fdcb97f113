internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// Writes batches to the segments. Confined to one thread; `run` returns when the journal is closed.
///
/// All queued records are written and synchronized once, then their callers resume. A single record waits only for its
/// own synchronization. Records that arrive meanwhile form the next batch.
final class JournalWriter {
    let queue: JournalQueue
    let files: any JournalFileSystem
    var settings: JournalFile.Configuration
    /// The end of the chain, and the state of signing. Both advance only when a batch is on disk.
    var chain: JournalChain
    var signer: JournalSigner?
    /// The segment in use; nil during an outage.
    var segment: JournalSegment?
    /// The number of records rejected since the last successful write.
    var rejected = 0
    /// The wait before the next attempt to open a segment.
    var delay = Duration.zero
    /// The directory's lock.
    var lock: LockFile
    /// The segments that are no longer written.
    var closed: ClosedSegments
    /// The lost lines that no journal line records yet.
    var unrecordedLosses: [ClosedSegments.Loss] = []
    /// The lost lines that a journal line records, with the number of that line.
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
    /// The ends of the oldest segments, cached to avoid reading them again.
    var knownEnds: [JournalSegmentName: SegmentTail] = [:]
    var batch: JournalBatch
    private var preallocation = SegmentPreallocation()
    private let copiers: [CheckpointCopier]
    var segmentStarted: MonotonicInstant
    var lastSpaceCheck: MonotonicInstant?
    var lacksSpace = false

    /// The number of bytes after which a batch is written; remaining records form the next batch. A crash therefore
    /// affects at most this and one call's records.
    static let batchBytes = 4 << 20

    /// Creates the writer.
    ///
    /// - Parameters:
    ///   - begun: The state after opening. Its first batch is already on disk.
    ///   - lock: The lock held on the directory.
    init(
        queue: JournalQueue, files: any JournalFileSystem, settings: JournalFile.Configuration,
        begun: JournalFile.Opened, lock: LockFile
    ) {
        let batch = begun.batch
        self.lock = lock
        closed = begun.closed
        retentionClock = begun.retentionClock
        self.queue = queue
        self.files = files
        self.settings = settings
        segment = begun.segment
        self.batch = batch
        chain = batch.chain
        signer = batch.signer
        segmentStarted = batch.now
        copiers = settings.checkpointSinks.map { CheckpointCopier($0, logger: settings.logger) }
        adopt(batch)
    }

    /// Writes until the journal is closed, then writes a `stop` record.
    func run() {
        checkSpace()
        enforceRetention()
        while true {
            if segment == nil {
                queue.sleep(atMost: delay)
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

    /// The time for which an idle writer may sleep. It is at most the interval of comparing the open segment with its
    /// file.
    private var idleTimeout: Duration? {
        var waits = [settings.watchInterval]
        if lacksSpace { waits.append(settings.maximumRetryDelay) }
        if let signer {
            // The minimum prevents a busy loop while the clock does not advance.
            let due = signer.wait(now: settings.clocks.monotonic())
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
        while segment != nil, !rest.isEmpty || (dropped > 0 && !lacksSpace) || isCheckpointDue {
            do throws(JournalUnavailable) {
                rest = try writeBatch(rest, dropped: dropped, last: last)
                dropped = lacksSpace ? dropped : 0
                if !last { try preallocate() }
            } catch {
                fail(error, unwritten: Array(rest), dropped: dropped)
                return
            }
        }
        if dropped > 0 || !rest.isEmpty { queue.requeue(Array(rest), dropped: dropped) }
    }

    /// Writes one batch and resumes its callers. Returns the items that did not fit.
    private func writeBatch(
        _ items: ArraySlice<JournalQueue.Item>, dropped: Int, last: Bool
    ) throws(JournalUnavailable) -> ArraySlice<JournalQueue.Item> {
        try rotateIfDue()
        begin()
        if dropped > 0, !lacksSpace { try batch.append(.recovered(.notesDropped, count: dropped)) }
        var rest = items
        while let item = rest.first, batch.bytes.count < Self.batchBytes {
            try batch.append(item.entry)
            rest = rest.dropFirst()
        }
        if isCheckpointDue || (last && rest.isEmpty) { try batch.sign() }
        try commit()
        JournalWaiter.resume(.success(()), for: items[..<rest.startIndex])
        return rest
    }

    /// Starts a batch at the end of the chain.
    func begin() {
        batch.chain = chain
        batch.signer = signer
        batch.open(clocks: settings.clocks)
    }

    /// Writes the batch to disk, then advances the chain. An empty batch checks that the disk accepts writes.
    ///
    /// The segment is compared with its file before and after the write. Before it, because a write would fill the gap
    /// of a truncated file. After it, so that no caller resumes for a record in a file that was removed.
    func commit() throws(JournalUnavailable) {
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
        adopt(batch)
    }

    /// Preallocates space for the next batches after the callers of this one resumed.
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

    /// Advances the chain to the end of a batch that is on disk, and copies its checkpoints.
    func adopt(_ batch: JournalBatch) {
        chain = batch.chain
        signer = batch.signer
        for line in batch.checkpoints { for copier in copiers { copier.add(line) } }
    }

    private var isCheckpointDue: Bool {
        signer?.wait(now: settings.clocks.monotonic()).map { $0 <= .zero } ?? false
    }
}
