internal import GatewayCore
internal import Logging

/// Writes batches to the segments. Belongs to one thread, which does nothing else: `run` returns when the journal is closed.
///
/// What is queued is written at once and synchronised once, then everybody who waited is told. A lone record waits for nothing
/// but its own synchronisation; what comes meanwhile is the next batch.
final class JournalWriter {
    let queue: JournalQueue
    let files: any JournalFileSystem
    let settings: JournalFile.Configuration
    /// Where the journal stands; moves only when a batch is on disk.
    var chain: JournalChain
    /// The segment in use; nil while none can be written.
    var segment: JournalSegment?
    /// Records refused since the last good synchronisation.
    var refused = 0
    /// How long to wait before the next attempt to open a segment.
    var delay = Duration.zero
    private var line = JournalLine()
    private var spaceLooked: MonotonicInstant?
    private var lacksSpace = false

    /// How many bytes a batch may have before it is written; what is left over is the next batch. So a crash tears no more than
    /// this and one call's records.
    static let batchBytes = 4 << 20

    init(queue: JournalQueue, files: any JournalFileSystem, settings: JournalFile.Configuration, chain: JournalChain) {
        self.queue = queue
        self.files = files
        self.settings = settings
        self.chain = chain
    }

    /// Writes until the journal is closed, then says so in the journal.
    func run() {
        lookAtSpace()
        while true {
            if segment == nil {
                queue.sleep(atMost: delay)
                mend()
            } else {
                queue.waitForWork(atMost: lacksSpace ? settings.longestDelay : nil)
            }
            // Read before the queue is emptied: nothing is added afterwards but notes, and the last ones are taken below.
            let isClosing = queue.isClosing
            // The last attempt begins after the close was asked for: what failed a moment before says nothing of now.
            if isClosing, segment == nil { mend() }
            if segment != nil {
                lookAtSpace()
                let (items, dropped) = queue.take()
                write(items, dropped: dropped)
            }
            if isClosing { return finish() }
        }
    }

    private func finish() {
        write([JournalQueue.Item(records: [JournalRecord(.stop)], continuation: nil)], dropped: 0)
        segment?.close()
        segment = nil
    }

    private func write(_ items: [JournalQueue.Item], dropped: Int) {
        var rest = items[...]
        var dropped = dropped
        while segment != nil, !rest.isEmpty || (dropped > 0 && !lacksSpace) {
            do throws(JournalUnavailable) {
                rest = try writeBatch(rest, dropped: dropped)
                dropped = lacksSpace ? dropped : 0
            } catch {
                fail(error, unwritten: Array(rest), dropped: dropped)
                return
            }
        }
        if dropped > 0 || !rest.isEmpty { queue.putBack(Array(rest), dropped: dropped) }
    }

    /// Writes what fits into one batch and answers those who wait for it; returns what is left.
    private func writeBatch(
        _ items: ArraySlice<JournalQueue.Item>, dropped: Int
    ) throws(JournalUnavailable) -> ArraySlice<JournalQueue.Item> {
        try rotateIfFull()
        let time = settings.clocks.wall().description
        var end = chain
        line.bytes.removeAll(keepingCapacity: true)
        if dropped > 0, !lacksSpace { try append(.recovered(.notesDropped, count: dropped), time, &end) }
        var rest = items
        while let item = rest.first, line.bytes.count < Self.batchBytes {
            for record in item.records { try append(.record(record), time, &end) }
            rest = rest.dropFirst()
        }
        if !line.bytes.isEmpty { try appendToSegment() }
        chain = end
        for item in items[..<rest.startIndex] { item.continuation?.resume(returning: .success(())) }
        return rest
    }

    private func append(
        _ entry: JournalEntry, _ time: String, _ chain: inout JournalChain
    ) throws(JournalUnavailable) {
        guard chain.append(entry, at: time, to: &line) else { throw JournalUnavailable("libcrypto made no hash") }
    }

    private func appendToSegment() throws(JournalUnavailable) {
        do throws(FileFailure) {
            try segment?.append(line.bytes)
        } catch {
            throw JournalUnavailable(error.description)
        }
    }

    private func rotateIfFull() throws(JournalUnavailable) {
        guard let full = segment, full.length >= settings.segmentBytes else { return }
        segment = nil
        full.close()
        do throws(FileFailure) {
            segment = try JournalSegment(first: chain.next, in: settings.directory, files: files)
        } catch {
            throw JournalUnavailable(error.description)
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
