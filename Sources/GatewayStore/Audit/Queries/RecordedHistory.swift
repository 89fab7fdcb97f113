internal import Dispatch
public import GatewayCore
public import GatewaySupport
internal import Glibc
public import Logging
internal import Synchronization

/// Notification history of a running gateway. Reads the journal through its index, which is updated in the background
/// at startup and on every query. While the index is not usable, queries scan the segments up to a limit.
///
/// Safe to use from any thread; callers resume on their own executors. One serial queue uses the index and another one
/// scans the segments, so that queries do not wait while the index of a long journal is built, which takes minutes.
public final class RecordedHistory: NotificationHistory {
    private let files: SegmentFiles
    private let sessions: SessionRegister
    private let logger: Logger
    private let queue = DispatchQueue(label: "notify-gateway.audit", qos: .utility)
    private let scans = DispatchQueue(label: "notify-gateway.audit.scan", qos: .utility)
    /// Confined to `queue`.
    private let trail: AuditTrail
    private let scanLimit: UInt64
    private let waiting = Atomic(0)
    private let waitingForScan = Atomic(0)
    private let isReady = Atomic(false)
    /// Whether the log already reports that the index is unavailable.
    private let isReported = Atomic(false)
    private let isClosed = Atomic(false)

    /// The longest sleep, in microseconds. A pause ends within this time when a query arrives or the journal is closed.
    private static let maximumSleep: UInt32 = 50_000

    /// The maximum number of waiting queries on each queue. Further queries fail.
    static let maximumQueueLength = 64

    /// The maximum number of bytes that one query scans while the index is not usable. Scanning them takes about a
    /// second.
    static let maximumScanBytes: UInt64 = 512 << 20

    /// Creates a history of the journal in the directory and starts to build the index in the background.
    public convenience init(directory: String, sessions: SessionRegister, logger: Logger) {
        self.init(SegmentFiles(directory: directory), sessions: sessions, logger: logger)
        refresh()
    }

    /// Creates a history that builds no index before `refresh` is called.
    init(
        _ files: SegmentFiles, sessions: SessionRegister, logger: Logger,
        scanLimit: UInt64 = RecordedHistory.maximumScanBytes
    ) {
        self.files = files
        self.sessions = sessions
        self.logger = logger
        self.scanLimit = scanLimit
        trail = AuditTrail(files)
    }

    /// Starts an update of the index in the background. Called once a minute, so that queries have little left to
    /// update.
    public func refresh() { queue.async { [self] in update(isPaced: isReady.load(ordering: .acquiring)) } }

    /// See ``NotificationHistory``. Throws if the index is not usable and the journal exceeds the scan limit.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let life: WallTime?
        do throws(LedgerUnavailable) {
            life = try await sessions.accountStart(of: user)
        } catch {
            throw HistoryUnavailable("ledger: \(error.detail)")
        }
        let earliest = max(since ?? WallTime(microseconds: 0), life ?? WallTime(microseconds: 0))
        if isReady.load(ordering: .acquiring) {
            let found = try await run(queue, waiting) { [self] in
                update(rebuildsIfDamaged: false)
                return trail.indexed(user, since: earliest, limit: limit)
            }
            if let found { return found }
            // Rebuild the index in the background and scan the segments for this query.
            isReady.store(false, ordering: .releasing)
            refresh()
        }
        return try await run(scans, waitingForScan) { [self] in
            try AuditScan(files, limit: scanLimit, isWanted: isWanted)
                .received(by: user, since: earliest, limit: limit)
        }
    }

    /// Waits for the running query and closes the index. The next start indexes the rest of the journal. Blocks.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        scans.sync {}
        queue.sync { trail.close() }
    }

    private func run<Output: Sendable>(
        _ queue: DispatchQueue, _ waiting: borrowing Atomic<Int>, _ query: @escaping @Sendable () throws -> Output
    ) async throws(HistoryUnavailable) -> Output {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.maximumQueueLength else {
            waiting.subtract(1, ordering: .relaxed)
            throw HistoryUnavailable("too many queries are waiting")
        }
        let result: Result<Output, HistoryUnavailable> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                let result = Result {
                    guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
                    return try query()
                }
                continuation.resume(returning: result.mapError { HistoryUnavailable("\($0)") })
            }
        }
        waiting.subtract(1, ordering: .relaxed)
        return try result.get()
    }

    /// Updates the index. Runs on `queue`.
    ///
    /// - Parameters:
    ///   - isPaced: Whether to pause between blocks while no query waits. Without pauses, on a machine with one
    ///     processor, the update after a busy minute would take half of the processor time for seconds.
    ///   - rebuildsIfDamaged: Whether a damaged index is rebuilt at once, which may take minutes.
    private func update(isPaced: Bool = false, rebuildsIfDamaged: Bool = true) {
        var pace = BackgroundThrottle()
        func isStillWanted() -> Bool {
            if isPaced { sleep(until: .now + pace.pause()) }
            pace.begin()
            return isWanted()
        }
        guard isWanted() else { return }
        // This takes almost no time if few lines are new.
        let obstacle = trail.update(rebuildsIfDamaged: rebuildsIfDamaged, isWanted: isStillWanted)
        guard isWanted() else { return }
        isReady.store(obstacle == nil, ordering: .releasing)
        let wasReported = isReported.exchange(obstacle != nil, ordering: .relaxed)
        if let obstacle, !wasReported {
            logger.error("Audit index unavailable", metadata: ["detail": "\(obstacle.description)"])
        }
    }

    /// Sleeps until `end`, or until a query waits for the index.
    private func sleep(until end: ContinuousClock.Instant) {
        while isWanted(), waiting.load(ordering: .relaxed) == 0 {
            let left = (end - .now).components
            guard left.seconds > 0 || (left.seconds == 0 && left.attoseconds > 0) else { return }
            let microseconds = UInt32(clamping: left.seconds * 1_000_000 + left.attoseconds / 1_000_000_000_000)
            usleep(min(Self.maximumSleep, microseconds + 1))
        }
    }

    private func isWanted() -> Bool { !isClosed.load(ordering: .acquiring) }
}

/// Computes the pauses between blocks of background work, so that the work does not delay calls.
///
/// The work uses at most a quarter of one processor. It uses a hundredth if a block's elapsed time exceeds 1.5 times
/// its CPU time, which shows that other work needs the processor or the disk. Confined to one thread.
struct BackgroundThrottle {
    private var began = ContinuousClock.now
    private var used = Self.processorTime

    /// Returns the pause after the current block. The next block starts with `begin()`.
    func pause() -> Duration { Self.pause(after: Self.processorTime - used, within: ContinuousClock.now - began) }

    /// Starts the measurement of a block.
    mutating func begin() {
        began = .now
        used = Self.processorTime
    }

    static func pause(after used: Duration, within taken: Duration) -> Duration {
        used * (taken > used * 1.5 ? 99 : 3)
    }

    /// The CPU time of the current thread.
    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
