internal import GatewayCore
internal import Logging

/// Writes batches to the segments. Belongs to one thread, which does nothing else: `run` returns when the journal is closed.
///
/// What is queued is written at once and synchronised once, then everybody who waited is told. A lone record waits for nothing
/// but its own synchronisation; what comes meanwhile is the next batch.
final class JournalWriter {
    let queue: JournalQueue
    let files: any JournalFileSystem
    var settings: JournalFile.Configuration
    /// Where the journal stands, and what of it is signed; both move only when a batch is on disk.
    var chain: JournalChain
    var signer: JournalSigner?
    /// The segment in use; nil while none can be written.
    var segment: JournalSegment?
    /// Records refused since the last good synchronisation.
    var refused = 0
    /// How long to wait before the next attempt to open a segment.
    var delay = Duration.zero
    /// The directory's lock.
    var lock: LockFile
    /// The segments that are no longer written.
    var closed: ClosedSegments
    /// Lines that are known to be lost, and of which no record says so yet.
    var unrecordedLosses: [ClosedSegments.Loss] = []
    /// Lines that are lost and recorded as such, each with the number of the line that says so.
    var recordedLosses: [(loss: ClosedSegments.Loss, number: UInt64)] = []
    /// When closed segments were last compared with their files.
    var closedLooked: MonotonicInstant?
    /// When segments were last looked at that may have to go.
    var retentionLooked: MonotonicInstant?
    /// When segments were last looked at that may be too old.
    var ageLooked: MonotonicInstant?
    /// Whether the time of day may be believed.
    var retentionClock: RetentionClock
    /// Whether the log says that it is not believed.
    var hasReportedDoubt = false
    /// What is known of the oldest segments, so that they are not read again each time.
    var knownEnds: [JournalSegmentName: SegmentEnd] = [:]
    var batch: JournalBatch
    private var fillPace = JournalFillPace()
    private let copiers: [CheckpointCopier]
    var segmentBegan: MonotonicInstant
    var spaceLooked: MonotonicInstant?
    var lacksSpace = false

    /// How many bytes a batch may have before it is written; what is left over is the next batch. So a crash tears no more than
    /// this and one call's records.
    static let batchBytes = 4 << 20

    /// - Parameters:
    ///   - begun: the segment, and what is in it already and on disk.
    ///   - lock: held on the directory.
    init(
        queue: JournalQueue, files: any JournalFileSystem, settings: JournalFile.Configuration,
        begun: JournalFile.Begun, lock: LockFile
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
        segmentBegan = batch.now
        copiers = settings.checkpointSinks.map { CheckpointCopier($0, logger: settings.logger) }
        adopt(batch)
    }

    /// Writes until the journal is closed, then says so in the journal.
    func run() {
        lookAtSpace()
        retire()
        while true {
            if segment == nil {
                queue.sleep(atMost: delay)
                mend()
            } else {
                queue.waitForWork(atMost: patience)
            }
            if let bounds = queue.takeBounds() { keep(to: bounds) }
            // Read before the queue is emptied: nothing is added afterwards but notes, and the last ones are taken below.
            let isClosing = queue.isClosing
            // The last attempt begins after the close was asked for: what failed a moment before says nothing of now.
            if isClosing, segment == nil { mend() }
            if segment != nil {
                lookAtSpace()
                inspectClosedSegments()
            }
            if segment != nil {
                let (items, dropped) = queue.take()
                write(items, dropped: dropped)
                if items.isEmpty { inspectOpenSegment() }
                if !isClosing { retire() }
            }
            if isClosing { return finish() }
        }
    }

    /// How long nothing has to be done where nothing comes. The open segment is compared with its file at least that often.
    private var patience: Duration? {
        var waits = [settings.watchInterval]
        if lacksSpace { waits.append(settings.longestDelay) }
        if let signer {
            // A clock that stands still must not make this a busy wait.
            let due = signer.wait(now: settings.clocks.monotonic())
            if let due { waits.append(max(due, .milliseconds(1))) }
            waits.append(settings.retentionInterval)
        }
        return waits.min()
    }

    private func finish() {
        // What was lost since the last look is recorded before the end.
        closedLooked = nil
        inspectClosedSegments()
        write([JournalQueue.Item(JournalRecord(.stop))], dropped: 0, last: true)
        if segment == nil {
            // The segment was found damaged just now: what is lost and the end are recorded in another one.
            mend()
            if segment != nil {
                let (items, dropped) = queue.take()
                write(items, dropped: dropped, last: true)
            }
        }
        segment?.end()
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
                if !last { try fillAhead() }
            } catch {
                fail(error, unwritten: Array(rest), dropped: dropped)
                return
            }
        }
        if dropped > 0 || !rest.isEmpty { queue.putBack(Array(rest), dropped: dropped) }
    }

    /// Writes what fits into one batch and answers those who wait for it; returns what is left.
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
        JournalWaiter.tell(.success(()), to: items[..<rest.startIndex])
        return rest
    }

    /// Begins a batch where the journal stands.
    func begin() {
        batch.chain = chain
        batch.signer = signer
        batch.open(clocks: settings.clocks)
    }

    /// Puts the batch on disk; only then the journal stands where the batch ends. An empty batch proves that the disk takes
    /// writes.
    ///
    /// The segment is compared with its file before and after the write: before, since a write fills the gap that truncation
    /// left; after, so that nobody is told of a record in a file that has lost its name.
    func commit() throws(JournalUnavailable) {
        try requireIntactSegment()
        if batch.bytes.isEmpty {
            do throws(FileFailure) {
                try segment?.proveDisk()
            } catch {
                throw JournalUnavailable(error.description)
            }
        } else {
            let start = settings.clocks.monotonic().nanoseconds
            do throws(FileFailure) {
                try segment?.append(batch.bytes)
                let time = settings.clocks.monotonic().nanoseconds - start
                settings.metrics.syncTimes.observe(time)
                fillPace.wroteBatch(in: time)
                settings.metrics.batchLines.observe(Int64(clamping: batch.chain.next &- chain.next))
            } catch {
                settings.metrics.failures.add()
                throw JournalUnavailable(error.description)
            }
            try requireIntactSegment()
        }
        adopt(batch)
    }

    /// Makes room for the next batches, now that those who waited for this one are told.
    private func fillAhead() throws(JournalUnavailable) {
        guard segment?.lacksRoom(fillPace.step, upTo: settings.segmentBytes) == true else { return }
        try requireIntactSegment()
        let start = settings.clocks.monotonic().nanoseconds
        do throws(FileFailure) {
            try segment?.fillAhead(fillPace.step)
        } catch {
            throw JournalUnavailable(error.description)
        }
        fillPace.madeRoom(in: settings.clocks.monotonic().nanoseconds - start)
    }

    /// Moves on to the end of a batch that is on disk.
    func adopt(_ batch: JournalBatch) {
        chain = batch.chain
        signer = batch.signer
        for line in batch.checkpoints { for copier in copiers { copier.add(line) } }
    }

    private var isCheckpointDue: Bool {
        signer?.wait(now: settings.clocks.monotonic()).map { $0 <= .zero } ?? false
    }
}
