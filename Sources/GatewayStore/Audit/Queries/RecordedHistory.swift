internal import Dispatch
public import GatewayCore
public import GatewaySupport
internal import Glibc
public import Logging
internal import Synchronization

/// Notification history of a running gateway. Reads the journal through its indexes, which are kept up to date in the
/// background.
///
/// Safe to use from any thread; callers resume on their own executors. One serial queue follows the segment in use and
/// runs the queries. Another one builds the missing indexes of closed segments, which takes seconds after the indexes
/// of a long journal were lost; queries then read the newest segments themselves, up to a limit.
public final class RecordedHistory: NotificationHistory {
    private let sessions: SessionRegister
    private let logger: Logger
    private let queries = DispatchQueue(label: "notify-gateway.audit", qos: .utility)
    private let builds = DispatchQueue(label: "notify-gateway.audit.build", qos: .utility)
    /// Runs the queries of operators, which can be long, so that users do not wait for them.
    let operators = DispatchQueue(label: "notify-gateway.audit.operators", qos: .utility)
    let trail: AuditTrail
    /// The counts of the journal's calls. They start with the first query.
    public let statistics: JournalStatistics
    private let scanLimit: UInt64
    private let waiting = Atomic(0)
    let waitingOperators = Atomic(0)
    private let isFollowing = Atomic(false)
    private let isBuilding = Atomic(false)
    /// Whether the log already reports that the segment in use cannot be followed.
    private let reportsFollowing = Atomic(false)
    /// Whether the log already reports that an index cannot be built.
    private let reportsBuilding = Atomic(false)
    private let isClosed = Atomic(false)

    /// The longest sleep, in microseconds. A pause ends within this time when the journal is closed.
    private static let maximumSleep: UInt32 = 50_000

    /// The maximum number of waiting queries. Further queries fail.
    static let maximumQueueLength = 64

    /// The maximum number of lines that are read for one page of a list. Reading them takes less than a second.
    static let maximumPageLines = 50_000

    /// The maximum number of bytes that one query reads from segments without an index. Reading them takes about a
    /// second.
    static let maximumScanBytes: UInt64 = 512 << 20

    /// Creates a history of a journal and starts to build missing indexes in the background.
    ///
    /// - Parameters:
    ///   - trail: The queries on the journal, which nothing else uses.
    ///   - followers: The durable end of the journal; nil if another process writes it.
    public convenience init(
        _ trail: AuditTrail, followers: JournalFollowers? = nil, sessions: SessionRegister,
        clocks: Clocks = .system, logger: Logger
    ) {
        self.init(
            trail, statistics: JournalStatistics(trail.index, followers: followers, clocks: clocks),
            sessions: sessions, logger: logger)
        refresh()
    }

    /// Creates a history that builds no index before `refresh` is called.
    convenience init(
        _ files: SegmentFiles, sessions: SessionRegister, logger: Logger,
        scanLimit: UInt64 = RecordedHistory.maximumScanBytes
    ) {
        let trail = AuditTrail(files, minimumFree: 0)
        self.init(
            trail, statistics: JournalStatistics(trail.index, followers: nil, clocks: .system), sessions: sessions,
            logger: logger, scanLimit: scanLimit)
    }

    private init(
        _ trail: AuditTrail, statistics: JournalStatistics, sessions: SessionRegister, logger: Logger,
        scanLimit: UInt64 = RecordedHistory.maximumScanBytes
    ) {
        self.sessions = sessions
        self.logger = logger
        self.scanLimit = scanLimit
        self.trail = trail
        self.statistics = statistics
    }

    /// The bytes of closed segments that have no index yet. Queries read them themselves, up to a limit.
    public var unindexedBytes: Int64 { trail.index.unindexedBytes.value }

    /// Starts an update of the indexes. Called every second, so that queries have little left to update and the index
    /// is never far behind the journal. Has no effect while an earlier update is running.
    public func refresh() {
        guard !isFollowing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queries.async { [self] in
            follow(isPaced: true)
            isFollowing.store(false, ordering: .releasing)
        }
    }

    /// See ``NotificationHistory``. Throws if more of the journal than the scan limit has no index yet.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let earliest = try await sessions.historyStart(of: user, since: since)
        return try await run(on: queries, waiting) { [self] in
            follow()
            return try trail.received(
                by: user, since: earliest, limit: limit, byteLimit: scanLimit, isWanted: isWanted)
        }
    }

    /// Returns a page of a list for operators, the newest rows first. A page may have fewer rows than the limit although
    /// more exist, because only a limited number of lines is read for it.
    ///
    /// - Parameters:
    ///   - query: The conditions.
    ///   - limit: The maximum number of rows.
    ///   - isOfCalls: Whether a row is a call with a matching line, with all of its lines. Otherwise it is one line.
    public func page(
        _ query: AuditQuery, limit: Int, isOfCalls: Bool
    ) async throws(HistoryUnavailable) -> AuditPage {
        // Without this, the query would read all lines since the last update itself.
        try await run(on: queries, waiting) { [self] in follow() }
        return try await run(on: operators, waitingOperators) { [self] in
            try trail.page(
                query, limit: limit, isOfCalls: isOfCalls, mostExamined: Self.maximumPageLines, byteLimit: scanLimit,
                isWanted: isWanted)
        }
    }

    /// Waits for the running query and closes the indexes. The next start indexes the rest of the journal. Blocks.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        statistics.close()
        builds.sync {}
        operators.sync {}
        queries.sync { trail.close() }
    }

    func run<Output: Sendable>(
        on queue: DispatchQueue, _ waiting: borrowing Atomic<Int>, _ query: @escaping @Sendable () throws -> Output
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

    /// Brings the index of the segment in use up to date. Runs on `queries`.
    ///
    /// - Parameter isPaced: Whether no query follows. The work then pauses between blocks while no query waits, so that it
    ///   does not delay calls.
    private func follow(isPaced: Bool = false) {
        guard isWanted() else { return }
        trail.allowIndexes()
        var pace = BackgroundThrottle()
        do throws(AuditIndex.Failure) {
            let end = statistics.countableEnd()
            let needsBuilding = try trail.index.follow(
                encodes: !isPaced,
                isWanted: {
                    if isPaced { sleep(until: .now + pace.pause()) { waiting.load(ordering: .relaxed) == 0 } }
                    pace.begin()
                    return isWanted()
                },
                onUpdate: { lines, segments in
                    if let end { statistics.count(lines, segments, before: end) }
                })
            report(nil, reportsFollowing)
            if needsBuilding { build() }
        } catch {
            report(error, reportsFollowing)
        }
    }

    /// Starts to build the missing indexes of closed segments, unless that is under way.
    private func build() {
        guard !isBuilding.exchange(true, ordering: .acquiringAndReleasing) else { return }
        builds.async { [self] in
            var pace = BackgroundThrottle()
            do throws(AuditIndex.Failure) {
                try trail.index.buildMissing(isWanted: {
                    sleep(until: .now + pace.pause()) { true }
                    pace.begin()
                    return isWanted()
                })
                report(nil, reportsBuilding)
                // The statistics count the segment through its index.
                refresh()
            } catch {
                report(error, reportsBuilding)
            }
            isBuilding.store(false, ordering: .releasing)
        }
    }

    /// Logs the failure once, until the work succeeds again.
    private func report(_ failure: AuditIndex.Failure?, _ isReported: borrowing Atomic<Bool>) {
        guard isWanted() else { return }
        let wasReported = isReported.exchange(failure != nil, ordering: .relaxed)
        if let failure, !wasReported {
            logger.error("Audit index unavailable", metadata: ["detail": "\(failure.description)"])
        }
    }

    /// Sleeps until `end`, until the history is closed, or until the condition no longer holds.
    private func sleep(until end: ContinuousClock.Instant, while condition: () -> Bool) {
        while isWanted(), condition() {
            let left = (end - .now).components
            guard left.seconds > 0 || (left.seconds == 0 && left.attoseconds > 0) else { return }
            let microseconds = UInt32(clamping: left.seconds * 1_000_000 + left.attoseconds / 1_000_000_000_000)
            usleep(min(Self.maximumSleep, microseconds + 1))
        }
    }

    private func isWanted() -> Bool { !isClosed.load(ordering: .acquiring) }
}
