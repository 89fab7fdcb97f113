internal import Dispatch
public import GatewayCore
internal import Glibc
public import Logging
internal import Synchronization

/// Who notified whom, asked of a running gateway: from the journal by way of its index, which is brought up to date in the
/// background when the gateway starts and again whenever somebody asks. While there is no index that can be used the segments are
/// read instead, up to a bound.
///
/// Safe to use from any thread; a caller resumes on its own executor. The index is used on one queue and the segments are read on
/// another, one question at a time on each: making the index takes minutes where the journal is long, and nobody waits for it.
public final class RecordedHistory: NotificationHistory {
    private let files: SegmentFiles
    private let sessions: SessionRegister
    private let logger: Logger
    private let queue = DispatchQueue(label: "notify-gateway.audit", qos: .utility)
    private let scans = DispatchQueue(label: "notify-gateway.audit.scan", qos: .utility)
    /// Used on the queue alone.
    private let trail: AuditTrail
    private let scanLimit: UInt64
    private let waiting = Atomic(0)
    private let waitingForScan = Atomic(0)
    private let isReady = Atomic(false)
    /// Whether the log says that the index cannot be used.
    private let isReported = Atomic(false)
    private let isClosed = Atomic(false)

    /// So soon a rest ends where somebody waits, or where the journal is closed.
    private static let longestNap: UInt32 = 50_000

    /// How many questions may wait; more are told that there is no answer at present.
    static let longestQueue = 64

    /// How many bytes of segments are read for one question while there is no index: about a second's work.
    static let longestScan: UInt64 = 512 << 20

    /// A history of the journal in the directory. Begins to read it in the background.
    public convenience init(directory: String, sessions: SessionRegister, logger: Logger) {
        self.init(SegmentFiles(directory: directory), sessions: sessions, logger: logger)
        refresh()
    }

    /// A history that makes no index before `refresh` is called.
    init(
        _ files: SegmentFiles, sessions: SessionRegister, logger: Logger,
        scanLimit: UInt64 = RecordedHistory.longestScan
    ) {
        self.files = files
        self.sessions = sessions
        self.logger = logger
        self.scanLimit = scanLimit
        trail = AuditTrail(files)
    }

    /// Brings the index up to date in the background, so that nobody who asks has to wait for much; for once a minute.
    public func refresh() { queue.async { [self] in update(isPaced: isReady.load(ordering: .acquiring)) } }

    /// See ``NotificationHistory``. Throws where there is no index yet and the journal is too long to be read through.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let life: WallTime?
        do throws(LedgerUnavailable) {
            life = try await sessions.presentLife(of: user)
        } catch {
            throw HistoryUnavailable("ledger: \(error.detail)")
        }
        let earliest = max(since ?? WallTime(microseconds: 0), life ?? WallTime(microseconds: 0))
        if isReady.load(ordering: .acquiring) {
            let found = try await ask(queue, waiting) { [self] in
                update(makesAnew: false)
                return trail.indexed(user, since: earliest, limit: limit)
            }
            if let found { return found }
            // Made anew while segments are read.
            isReady.store(false, ordering: .releasing)
            refresh()
        }
        return try await ask(scans, waitingForScan) { [self] in
            try AuditScan(files, limit: scanLimit, isWanted: isWanted)
                .received(by: user, since: earliest, limit: limit)
        }
    }

    /// Waits for the question under way and closes the index; what of the journal has not been read is left for the next start.
    /// Blocks.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        scans.sync {}
        queue.sync { trail.close() }
    }

    private func ask<Answer: Sendable>(
        _ queue: DispatchQueue, _ waiting: borrowing Atomic<Int>, _ question: @escaping @Sendable () throws -> Answer
    ) async throws(HistoryUnavailable) -> Answer {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.longestQueue else {
            waiting.subtract(1, ordering: .relaxed)
            throw HistoryUnavailable("too many questions wait")
        }
        let result: Result<Answer, HistoryUnavailable> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                let result = Result {
                    guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
                    return try question()
                }
                continuation.resume(returning: result.mapError { HistoryUnavailable("\($0)") })
            }
        }
        waiting.subtract(1, ordering: .relaxed)
        return try result.get()
    }

    /// Brings the index up to date. On the queue.
    ///
    /// - Parameters:
    ///   - isPaced: whether it is to rest between blocks, as long as nobody waits for it: after a busy minute it would else take
    ///     half of the time of calls, on a machine of one processor, for seconds.
    ///   - makesAnew: whether a damaged index is made anew at once, which may take minutes.
    private func update(isPaced: Bool = false, makesAnew: Bool = true) {
        var pace = BackgroundPace()
        func isStillWanted() -> Bool {
            if isPaced { sleep(until: .now + pace.rest()) }
            pace.begin()
            return isWanted()
        }
        guard isWanted() else { return }
        // Next to nothing where little was written since, and bounded by the limit on the call.
        let obstacle = trail.update(makesAnew: makesAnew, isWanted: isStillWanted)
        guard isWanted() else { return }
        isReady.store(obstacle == nil, ordering: .releasing)
        let wasReported = isReported.exchange(obstacle != nil, ordering: .relaxed)
        if let obstacle, !wasReported {
            logger.error("Audit index cannot be used", metadata: ["detail": "\(obstacle.description)"])
        }
    }

    /// Rests, as long as nobody waits for the index.
    private func sleep(until end: ContinuousClock.Instant) {
        while isWanted(), waiting.load(ordering: .relaxed) == 0 {
            let left = (end - .now).components
            guard left.seconds > 0 || (left.seconds == 0 && left.attoseconds > 0) else { return }
            let microseconds = UInt32(clamping: left.seconds * 1_000_000 + left.attoseconds / 1_000_000_000_000)
            usleep(min(Self.longestNap, microseconds + 1))
        }
    }

    private func isWanted() -> Bool { !isClosed.load(ordering: .acquiring) }
}
