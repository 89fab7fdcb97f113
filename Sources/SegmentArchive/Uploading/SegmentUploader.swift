internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import OutboundHTTP
internal import Synchronization

/// Archives the finished segments of a journal in their order, and stores its progress after each.
///
/// `run` is one task. It holds one chunk of a segment in memory.
final class SegmentUploader: Sendable {
    let settings: ArchiveSettings
    private let journal: SegmentArchive.Journal
    private let segments: FinishedSegments
    private let cursor: ArchiveCursor
    private let store: ObjectStore
    private let thread: DeliveryThread
    private let timing: DeliveryTiming
    private let metrics: ArchiveMetrics
    private let logger: Logger
    private let backlog = Mutex<(segments: Int, bytes: UInt64)>((0, 0))

    /// The interval at which an uploader without a backlog looks for segments.
    static let pollInterval = Duration.seconds(3)
    /// The time that a request in progress has when the uploader is stopped.
    static let stopGrace = Duration.seconds(5)

    init(
        _ settings: ArchiveSettings, journal: SegmentArchive.Journal, timing: DeliveryTiming, metrics: ArchiveMetrics,
        logger: Logger
    ) {
        self.settings = settings
        self.journal = journal
        self.timing = timing
        self.metrics = metrics
        self.logger = logger
        segments = FinishedSegments(directory: journal.directory)
        cursor = ArchiveCursor(journal: journal.directory)
        thread = DeliveryThread()
        store = ObjectStore(settings, thread: thread, clocks: timing.clocks)
    }

    /// The state for the metrics.
    var reading: ArchiveReading {
        let backlog = backlog.withLock(\.self)
        return ArchiveReading(
            segmentsBehind: backlog.segments, bytesBehind: backlog.bytes, uploaded: metrics.uploaded.value,
            failures: metrics.failures.value, conflicts: metrics.conflicts.value, lost: metrics.lost.value)
    }

    /// Archives segments until the task is cancelled. A request in progress then has ``stopGrace``.
    func run() async {
        var delay = RetryDelay()
        var isFailing = false
        var progress: ArchiveCursor.Progress?
        var isLoaded = false
        while !Task.isCancelled {
            let wait: Duration
            do throws(DeliveryFailure) {
                if !isLoaded {
                    progress = try await load()
                    isLoaded = true
                }
                let hasMore = try await advance(&progress)
                delay.reset()
                if isFailing { logger.notice("Segment archive recovered") }
                isFailing = false
                wait = hasMore ? .zero : Self.pollInterval
            } catch {
                if Task.isCancelled { break }
                metrics.failures.add()
                wait = delay.next(after: error.retryAfter, jitter: timing.jitter())
                logger.log(
                    level: isFailing ? .debug : .error, "Segment archive failed",
                    metadata: ["detail": "\(error.reason)", "retry-after": "\(wait.configured)"])
                isFailing = true
            }
            if wait > .zero { try? await timing.sleep(wait) }
        }
        await store.close()
        thread.stop()
    }

    /// Reads the cursor. Returns nil if all segments have to be looked up in the store.
    private func load() async throws(DeliveryFailure) -> ArchiveCursor.Progress? {
        let cursor = cursor
        let content = try await thread.run { () throws(DeliveryFailure) in try cursor.load() }
        var found: ArchiveCursor.Progress?
        switch content {
        case .missing: break
        case .damaged(let reason):
            logger.error(
                "Progress of the segment archive is damaged; all segments are compared with the store",
                metadata: ["detail": "\(reason)"])
        case .progress(let progress):
            if progress.place != settings.place {
                logger.notice("Segment archive has another place; all segments are archived there")
            } else if progress.next > journal.followers.durableEnd {
                logger.error(
                    "Journal ends before the progress of the segment archive; all segments are compared with the store",
                    metadata: ["next": "\(progress.next)", "end": "\(journal.followers.durableEnd)"])
            } else {
                found = progress
            }
        }
        journal.followers.require(from: found?.next ?? 0, by: JournalFollowers.archive)
        return found
    }

    /// Archives the next segment and stores the progress. Returns whether there may be more.
    private func advance(_ progress: inout ArchiveCursor.Progress?) async throws(DeliveryFailure) -> Bool {
        let end = journal.followers.durableEnd
        let finished = try await thread.run { [segments] () throws(DeliveryFailure) in
            do throws(FileFailure) { return try segments.list(before: end) } catch { throw DeliveryFailure(error) }
        }
        let next = progress?.next ?? 0
        let waiting = finished.filter { $0.end > next }
        backlog.withLock { $0 = (waiting.count, waiting.reduce(0) { $0 + $1.size }) }
        guard let segment = waiting.first else { return false }
        guard let file = try await open(segment) else {
            // Retention removed it meanwhile. The next listing shows that.
            return true
        }
        try await withGrace(Self.stopGrace) { [self] () throws(DeliveryFailure) in try await archive(segment, file) }
        // Not before, so that a repeated attempt does not count it again.
        if next > 0, segment.name.first > next { reportLoss(next..<segment.name.first) }
        let reached = ArchiveCursor.Progress(
            place: settings.place, first: progress?.first ?? segment.name.first, next: segment.end)
        progress = reached
        backlog.withLock { $0 = (waiting.count - 1, $0.bytes - segment.size) }
        try await withGrace(Self.stopGrace) { [thread, cursor] () throws(DeliveryFailure) in
            try await thread.run { () throws(DeliveryFailure) in try cursor.store(reached) }
        }
        journal.followers.require(from: reached.next, by: JournalFollowers.archive)
        return waiting.count > 1
    }

    private func open(_ segment: FinishedSegments.Segment) async throws(DeliveryFailure) -> SegmentFile? {
        let path = segments.path(of: segment.name)
        return try await thread.run { () throws(DeliveryFailure) in
            do throws(FileFailure) {
                return try SegmentFile(path)
            } catch {
                if error.isMissing { return nil }
                throw DeliveryFailure(error)
            }
        }
    }

    /// Writes the segment under its name, or under one that shows the conflict.
    private func archive(
        _ segment: FinishedSegments.Segment, _ file: SegmentFile
    ) async throws(DeliveryFailure) {
        let key = settings.key(segment.name.text)
        var archived = try await store.archive(file, as: key)
        if archived == .differs {
            let other = settings.key(ArchivedName(conflictOf: segment.name, file.digest).text)
            archived = try await store.archive(file, as: other)
            guard archived != .differs else {
                throw DeliveryFailure("\(other) has other content than its name says")
            }
            metrics.conflicts.add()
            logger.error(
                "Archive has another object under the name of a segment; the segment is archived under a name of its own",
                metadata: ["object": "\(key)", "archived-as": "\(other)"])
        }
        if archived == .uploaded { metrics.uploaded.add() }
        logger.info(
            "Journal segment archived",
            metadata: ["segment": "\(segment.name.text)", "uploaded": "\(archived == .uploaded)"])
    }

    private func reportLoss(_ lines: Range<UInt64>) {
        metrics.lost.add(lines.upperBound - lines.lowerBound)
        logger.error(
            "Journal no longer contains lines that are not archived",
            metadata: ["first": "\(lines.lowerBound)", "through": "\(lines.upperBound - 1)"])
    }
}
