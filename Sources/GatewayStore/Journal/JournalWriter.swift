internal import GatewayCore
internal import Logging

/// Writes batches to the segments. Belongs to one thread, which does nothing else: `run` returns when the journal is closed.
///
/// What is queued is written at once and synchronised once, then everybody who waited is told. A lone record waits for nothing
/// but its own synchronisation; what comes meanwhile is the next batch.
final class JournalWriter {
    let queue: JournalQueue
    let files: any JournalFileSystem
    private(set) var settings: JournalFile.Configuration
    /// Where the journal stands, and what of it is signed; both move only when a batch is on disk.
    var chain: JournalChain
    var signer: JournalSigner?
    /// The segment in use; nil while none can be written.
    var segment: JournalSegment?
    /// Records refused since the last good synchronisation.
    var refused = 0
    /// How long to wait before the next attempt to open a segment.
    var delay = Duration.zero
    /// When segments were last looked at that may have to go.
    var retentionLooked: MonotonicInstant?
    /// What is known of the oldest segments, so that they are not read again each time.
    var knownEnds: [JournalSegmentName: SegmentEnd] = [:]
    private var batch: JournalBatch
    private var fillPace = JournalFillPace()
    private let copier: CheckpointCopier?
    private var segmentBegan: MonotonicInstant
    private var spaceLooked: MonotonicInstant?
    private var lacksSpace = false

    /// How many bytes a batch may have before it is written; what is left over is the next batch. So a crash tears no more than
    /// this and one call's records.
    static let batchBytes = 4 << 20

    /// - Parameter batch: what is in the segment already, and on disk.
    init(
        queue: JournalQueue, files: any JournalFileSystem, settings: JournalFile.Configuration,
        segment: JournalSegment, holding batch: JournalBatch
    ) {
        self.queue = queue
        self.files = files
        self.settings = settings
        self.segment = segment
        self.batch = batch
        chain = batch.chain
        signer = batch.signer
        segmentBegan = batch.now
        copier = settings.checkpointCopy.map { place in
            let sink: any CheckpointSink =
                switch place {
                case .file(let path): CheckpointFile(path: path)
                case .syslog: CheckpointSyslog()
                }
            return CheckpointCopier(sink, logger: settings.logger)
        }
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
                let (items, dropped) = queue.take()
                write(items, dropped: dropped)
                if !isClosing { retire() }
            }
            if isClosing { return finish() }
        }
    }

    /// How long nothing has to be done where nothing comes; nil for ever.
    private var patience: Duration? {
        var waits: [Duration] = []
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
        write([JournalQueue.Item(JournalRecord(.stop))], dropped: 0, last: true)
        segment?.end()
        segment = nil
        copier?.close()
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

    /// Appends to the batch that was begun that everything up to a line is about to be removed.
    func retireInBatch(_ end: SegmentEnd) throws(JournalUnavailable) { try batch.retire(end) }

    /// Puts the batch on disk; only then the journal stands where the batch ends.
    func commit() throws(JournalUnavailable) {
        if !batch.bytes.isEmpty {
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
        }
        adopt(batch)
    }

    /// Makes room for the next batches, now that those who waited for this one are told.
    private func fillAhead() throws(JournalUnavailable) {
        guard segment?.lacksRoom(fillPace.step, upTo: settings.segmentBytes) == true else { return }
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
        if let copier { for line in batch.checkpoints { copier.add(line) } }
    }

    private var isCheckpointDue: Bool {
        signer?.wait(now: settings.clocks.monotonic()).map { $0 <= .zero } ?? false
    }

    private func rotateIfDue() throws(JournalUnavailable) {
        guard let full = segment else { return }
        let now = settings.clocks.monotonic()
        let age = Duration.nanoseconds(now.nanoseconds - segmentBegan.nanoseconds)
        guard full.length >= settings.segmentBytes || age >= settings.segmentAge else { return }
        if signer?.hasUnsigned == true {
            begin()
            try batch.sign()
            try commit()
        }
        segment?.end()
        segment = nil
        do throws(FileFailure) {
            segment = try JournalSegment(first: chain.next, in: settings.directory, files: files)
        } catch {
            throw JournalUnavailable(error.description)
        }
        segmentBegan = now
        // The length of what is kept has changed.
        retentionLooked = nil
    }

    private func keep(to bounds: JournalFile.Bounds) {
        settings.minimumFree = bounds.minimumFree
        settings.keep = bounds.keep
        settings.keepBytes = bounds.keepBytes
        // Both are looked at anew, by the new bounds.
        (spaceLooked, retentionLooked) = (nil, nil)
        if bounds.minimumFree == 0, lacksSpace {
            lacksSpace = false
            queue.set(nil)
        }
    }

    /// Asks for the free space, once a second at most.
    func lookAtSpace() {
        guard settings.minimumFree > 0 else { return }
        let now = settings.clocks.monotonic()
        if let spaceLooked, now.nanoseconds - spaceLooked.nanoseconds < 1_000_000_000 { return }
        spaceLooked = now
        let found = spaceOutage()
        if (found != nil) != lacksSpace {
            lacksSpace = found != nil
            let metadata: Logger.Metadata = ["detail": "\(found?.reason.detail ?? "")"]
            settings.logger.notice(lacksSpace ? "journal lacks space" : "journal has space again", metadata: metadata)
        }
        queue.set(found)
    }

    private func spaceOutage() -> JournalQueue.Outage? {
        do throws(FileFailure) {
            let free = try files.freeBytes(at: settings.directory)
            guard free < UInt64(clamping: settings.minimumFree) else { return nil }
            return .space(
                JournalUnavailable(
                    "\(free) bytes are free at \(settings.directory), fewer than \(settings.minimumFree)"))
        } catch {
            return .space(JournalUnavailable(error.description))
        }
    }

    /// Forgets when the space was last looked at.
    func forgetSpace() { spaceLooked = nil }
}
