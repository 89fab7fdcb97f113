internal import Dispatch
public import GatewayCore
public import GatewaySupport
internal import Glibc
internal import Logging
internal import Synchronization

/// Counts of the journal's calls: by minute, and of sends by sender and recipient.
///
/// Counting starts with ``start()`` or the first query; before, the object needs no memory and does nothing. The lines
/// of the segment in use are counted every second (``count(_:_:before:)``), closed segments through their indexes on a
/// queue of its own, newest first and throttled (``BackgroundThrottle``). Nothing is stored on disk, so a restart counts
/// again what the journal has. So does a wall clock that is set while counting (``ComparedTime``). Counting holds the
/// lock of the counts for some milliseconds at a time, a query for as long as it runs. The thread that follows the journal
/// never waits for it: lines that it could not count are counted later, from the same segment. Safe to use from any thread.
public final class JournalStatistics: CallStatistics {
    let index: AuditIndex
    let clocks: Clocks
    private let followers: JournalFollowers?
    let limits: PairTable.Limits
    private let queries = DispatchQueue(label: "notify-gateway.statistics", qos: .utility)
    let fills = DispatchQueue(label: "notify-gateway.statistics.fill", qos: .utility)
    /// The counts; nil until counting starts.
    let state = Mutex<StatisticsState?>(nil)
    let isFilling = Atomic(false)
    private let waiting = Atomic(0)
    private let isClosed = Atomic(false)
    private let hasStarted = Atomic(false)

    /// The maximum number of waiting queries. Further queries fail.
    static let maximumQueueLength = 64
    /// The number of lines that are counted at a time while queries wait.
    static let sliceLines = 4096

    /// Creates statistics that are not started.
    ///
    /// - Parameters:
    ///   - index: The index of the journal.
    ///   - followers: The durable end of the journal; nil if another process writes it. All lines count then.
    init(_ index: AuditIndex, followers: JournalFollowers?, clocks: Clocks, limits: PairTable.Limits = .init()) {
        self.index = index
        self.followers = followers
        self.clocks = clocks
        self.limits = limits
    }

    /// Starts counting. Has no effect if it has started, or is closed.
    public func start() {
        guard isWanted() else { return }
        let now = ComparedTime(clocks)
        state.withLock { state in
            if state == nil { state = StatisticsState(limits: limits, began: now) }
        }
        hasStarted.store(true, ordering: .releasing)
    }

    /// Whether counting has started.
    public var isStarted: Bool { hasStarted.load(ordering: .acquiring) }

    /// The end of the lines that may be counted at a time.
    struct CountableEnd: Sendable, Hashable {
        /// The number after the last line that is on disk.
        let number: UInt64
        /// The time at which it was read.
        let read: ComparedTime

        /// The same time, in microseconds since 1970.
        var time: Int64 { read.time }
    }

    /// Returns the present end of the lines that may be counted; nil if counting has not started.
    ///
    /// Called before the segments are listed: a later segment repeats the numbers of lines that a failed write left in an
    /// earlier one.
    func countableEnd() -> CountableEnd? {
        guard isStarted else { return nil }
        let now = ComparedTime(clocks)
        return CountableEnd(number: followers?.durableEnd ?? .max, read: now)
    }

    /// Returns the calls of each minute. Minutes older than 24 hours are not counted.
    ///
    /// - Parameters:
    ///   - since: The earliest time; nil for 24 hours ago.
    ///   - until: The latest time, exclusive; nil for now.
    public func minutes(since: WallTime?, until: WallTime?) async throws(HistoryUnavailable) -> MinuteStatistics {
        let range = (since?.microseconds ?? .min, until?.microseconds ?? .max)
        return try await query { state, now in
            let minutes = state.minutes.minutes(since: range.0, until: range.1, now: now.time)
            let first = minutes.first?.start.microseconds ?? now.time
            return MinuteStatistics(minutes: minutes, coverage: state.coverage(since: first, at: now))
        }
    }

    /// Returns the sends of pairs of users.
    public func pairs(_ query: PairQuery) async throws(HistoryUnavailable) -> PairStatistics {
        try await self.query { state, now in
            var found = state.pairs.statistics(query, now: now.time)
            found.coverage = state.coverage(since: found.range.lowerBound.microseconds, at: now)
            return found
        }
    }

    /// Runs a query on the counts, on a queue of its own. Starts counting.
    private func query<Output: Sendable>(
        _ body: @escaping @Sendable (borrowing StatisticsState, ComparedTime) -> Output
    ) async throws(HistoryUnavailable) -> Output {
        start()
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.maximumQueueLength else {
            waiting.subtract(1, ordering: .relaxed)
            throw HistoryUnavailable("too many queries are waiting")
        }
        let output: Output? = await withCheckedContinuation { continuation in
            queries.async { [self] in
                let now = ComparedTime(clocks)
                let output = isWanted() ? state.withLock { state in state.map { body($0, now) } } : nil
                continuation.resume(returning: output)
            }
        }
        waiting.subtract(1, ordering: .relaxed)
        guard let output else { throw HistoryUnavailable("the journal is closed") }
        return output
    }

    /// Stops counting and releases the memory. Waits for the running work. Blocks.
    func close() {
        isClosed.store(true, ordering: .releasing)
        fills.sync {}
        queries.sync {}
        state.withLock { $0 = nil }
        hasStarted.store(false, ordering: .releasing)
    }

    func isWanted() -> Bool { !isClosed.load(ordering: .acquiring) }
}
