internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import OutboundHTTP
internal import Synchronization

/// One sink: reads batches of the journal, delivers them, and stores its position after each.
///
/// `run` is one task. It holds at most one batch.
final class AuditSink: Sendable {
    let settings: AuditSinkSettings
    let journal: AuditSinks.Journal
    let destination: any SinkDestination
    private let follower: JournalFollower
    let cursor: SinkCursor
    let thread: DeliveryThread
    /// The interval at which a sink without a backlog looks for records.
    static let pollInterval = Duration.milliseconds(250)
    /// The time that a delivery in progress has when its sink is stopped.
    static let stopGrace = Duration.seconds(5)

    let timing: DeliveryTiming
    let metrics: AuditSinkMetrics
    let logger: Logger
    private let status: Mutex<Status>

    /// The progress for the metrics.
    private struct Status {
        /// The number after the last confirmed line; nil until the cursor was read.
        var next: UInt64?
        /// The time of the first line of the batch that is being delivered.
        var pendingSince: WallTime?
        /// The last time at which no durable line was left.
        var caughtUp: WallTime
    }

    /// The work of one sink that failures do not discard.
    struct Work {
        var position: JournalPosition
        /// Whether the cursor lacks the position.
        var isUnstored: Bool
        /// Whether the receiver keeps the position, so that there is no cursor.
        var receiverKeepsPosition = false
        /// Whether the receiver has to be asked for the position before anything else is sent.
        var needsPositionFromReceiver = false
        /// The number before which missing lines have been counted.
        var reportedLossesBefore: UInt64 = 0
        /// The batch that is not confirmed yet.
        var batch: JournalExcerpt?
    }

    init(
        _ settings: AuditSinkSettings, journal: AuditSinks.Journal, destination: any SinkDestination,
        thread: DeliveryThread, timing: DeliveryTiming, metrics: AuditSinkMetrics, logger: Logger
    ) {
        self.settings = settings
        self.journal = journal
        self.destination = destination
        self.thread = thread
        self.timing = timing
        self.metrics = metrics
        var logger = logger
        logger[metadataKey: "sink"] = "\(settings.name)"
        self.logger = logger
        follower = JournalFollower(directory: journal.directory)
        cursor = SinkCursor(sink: settings.name, journal: journal.directory)
        status = Mutex(Status(caughtUp: timing.clocks.wall()))
    }

    /// The state for the metrics.
    var reading: AuditSinkReading {
        let status = status.withLock(\.self)
        let end = journal.followers.durableEnd
        let behind = status.next.map { end > max($0, 1) ? end - max($0, 1) : 0 } ?? 0
        let since = status.pendingSince ?? status.caughtUp
        let age = timing.clocks.wall().microseconds - since.microseconds
        return AuditSinkReading(
            name: settings.name, isStarted: status.next != nil, recordsBehind: behind,
            secondsBehind: behind > 0 ? Double(max(0, age)) / 1e6 : 0, sent: metrics.sent.value,
            failures: metrics.failures.value, lost: metrics.lost.value)
    }

    /// Delivers records until the task is cancelled. A delivery in progress then has ``AuditSink/stopGrace``.
    ///
    /// - Parameter now: The number of the first line for a sink that starts now and has no cursor.
    func run(startingAt now: UInt64) async {
        var delay = RetryDelay(longest: destination.longestRetryDelay)
        var isFailing = false
        // Nil if the task was cancelled before the cursor was read.
        guard var work = await start(now) else { return await finish() }
        while !Task.isCancelled {
            let wait: Duration
            do throws(DeliveryFailure) {
                let hasMore = try await advance(&work)
                delay.reset()
                if isFailing { logger.notice("Audit sink recovered") }
                isFailing = false
                wait = hasMore ? .zero : AuditSink.pollInterval
            } catch {
                if Task.isCancelled { break }
                metrics.failures.add()
                // The receiver says where to go on.
                work.needsPositionFromReceiver = work.receiverKeepsPosition
                wait = delay.next(after: error.retryAfter, jitter: timing.jitter())
                let level: Logger.Level = isFailing ? .debug : .error
                logger.log(
                    level: level, "Audit sink failed",
                    metadata: ["detail": "\(error.reason)", "retry-after": "\(wait.configured)"])
                isFailing = true
            }
            if wait > .zero { try? await timing.sleep(wait) }
        }
        await finish()
    }

    private func finish() async {
        await destination.close()
        thread.stop()
    }

    /// Stores the position if necessary, then delivers one batch. Returns whether more records may be ready.
    private func advance(_ work: inout Work) async throws(DeliveryFailure) -> Bool {
        if work.needsPositionFromReceiver, let number = try await destination.position() {
            work.position = JournalPosition(before: number)
            (work.batch, work.needsPositionFromReceiver) = (nil, false)
        }
        if work.isUnstored { try await store(&work) }
        if work.batch == nil { work.batch = try await read(&work) }
        guard let batch = work.batch else {
            if destination.hasUnsent { try await deliver(SinkBatch(lines: [], count: 0)) }
            return false
        }
        if batch.count > 0 {
            status.withLock { $0.pendingSince = batch.firstTime ?? $0.pendingSince }
            try await deliver(SinkBatch(lines: batch.lines, count: batch.count, start: work.position.next))
            metrics.sent.add(UInt64(batch.count))
        }
        work.position = batch.position
        work.batch = nil
        work.isUnstored = true
        adopt(work.position)
        try await store(&work)
        return batch.count > 0
    }

    /// Reads the next batch; nil if there is none. Counts the records that the journal no longer contains.
    private func read(_ work: inout Work) async throws(DeliveryFailure) -> JournalExcerpt? {
        let (position, end) = (work.position, journal.followers.durableEnd)
        guard position.next < end else {
            status.withLock { $0.caughtUp = timing.clocks.wall() }
            return nil
        }
        let bounds = JournalFollower.Bounds(lines: destination.maximumRecords, bytes: SinkBatch.maximumBytes)
        let excerpt = try await thread.run { [follower] () throws(DeliveryFailure) in
            do throws(AuditIndex.Failure) {
                return try follower.read(from: position, before: end, within: bounds)
            } catch {
                throw DeliveryFailure("the journal cannot be read: \(error.description)")
            }
        }
        // Lines that are read again after a failure are lost only once.
        if excerpt.missing > 0, excerpt.position.next > work.reportedLossesBefore {
            work.reportedLossesBefore = excerpt.position.next
            metrics.lost.add(excerpt.missing)
            logger.error(
                "Journal no longer contains records that the audit sink has not sent",
                metadata: ["records": "\(excerpt.missing)", "first": "\(position.next)"])
        }
        return excerpt.position == position ? nil : excerpt
    }

    /// Delivers a batch, with the grace of a stop.
    private func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        try await withGrace(Self.stopGrace) { [destination] () throws(DeliveryFailure) in
            try await destination.deliver(batch)
        }
    }

    /// Writes the cursor, unless the receiver keeps the position, with the grace of a stop.
    private func store(_ work: inout Work) async throws(DeliveryFailure) {
        let position = work.position
        if !work.receiverKeepsPosition {
            try await withGrace(Self.stopGrace) { [thread, cursor] () throws(DeliveryFailure) in
                try await thread.run { () throws(DeliveryFailure) in try cursor.store(position) }
            }
        }
        work.isUnstored = false
        journal.followers.require(from: position.next, by: settings.name)
    }

    func adopt(_ position: JournalPosition) {
        if status.withLock({ $0.next == nil }) { journal.followers.require(from: position.next, by: settings.name) }
        status.withLock { status in
            status.next = position.next
            status.pendingSince = nil
            status.caughtUp = timing.clocks.wall()
        }
    }
}
