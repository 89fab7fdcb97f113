internal import CMalloc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// A scheduler that returns free heap memory to the system after a load peak. The allocator itself keeps such memory
/// because allocated blocks lie between the free ones.
///
/// Thread-safe. The trim runs on a thread pool, once for all calls within `delay`.
final class HeapTrimmer: Sendable {
    /// The delay before a trim, during which more memory can become free.
    private let delay: TimeAmount
    private let isScheduled = Atomic(false)
    private let isRequired = Atomic(false)
    private let policy: Mutex<TrimPolicy>
    private let resident: @Sendable () -> Int
    private let trim: @Sendable () -> Void

    /// Creates a trimmer with nothing scheduled.
    ///
    /// - Parameters:
    ///   - resident: Returns the resident memory of the process in bytes; 0 if it is unknown.
    ///   - trim: Returns the memory to the system; the default is the allocator's own function.
    init(
        delay: TimeAmount = .seconds(2), resident: @escaping @Sendable () -> Int = { notify_gateway_resident_bytes() },
        trim: @escaping @Sendable () -> Void = { notify_gateway_trim_heap() }
    ) {
        self.delay = delay
        self.resident = resident
        self.trim = trim
        policy = Mutex(TrimPolicy(size: resident(), now: .now()))
    }

    /// Schedules a trim after `delay`. Called after a large decrease of the memory in use.
    func schedule() {
        isRequired.store(true, ordering: .relaxed)
        scheduleIfGrown()
    }

    /// Schedules a trim after `delay` for the case that the process has grown. Called when a connection closes: one
    /// connection after the other may leave free memory behind although few are open at a time.
    func scheduleIfGrown() {
        guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        loop.scheduleTask(in: delay) {
            self.isScheduled.store(false, ordering: .relaxed)
            NIOThreadPool.singleton.submit { _ in self.trimIfDue() }
        }
    }

    private func trimIfDue() {
        let isRequired = isRequired.exchange(false, ordering: .relaxed)
        policy.withLock { policy in
            guard policy.isDue(size: resident(), now: .now()) || isRequired else { return }
            trim()
            policy.recordTrim(size: resident(), now: .now())
        }
    }
}

/// The rule by which the heap is trimmed without a known decrease of the memory in use.
///
/// A trim of 60 MiB takes milliseconds, in which the allocator blocks other threads. It is due if the process has grown
/// since the last trim, or if it is larger than at the start and the last trim was a minute ago: memory that was in use
/// then may be free now.
struct TrimPolicy {
    /// The growth after which a trim is due, in bytes.
    static let growth = 16 << 20
    /// The time after which a trim of a grown process is repeated.
    static let age = TimeAmount.seconds(60)

    private let initialSize: Int
    private var trimmedSize: Int
    private var trimmed: NIODeadline

    /// - Parameter size: The size of the process now, in bytes.
    init(size: Int, now: NIODeadline) {
        (initialSize, trimmedSize, trimmed) = (size, size, now)
    }

    /// Returns whether to trim a process of this size.
    mutating func isDue(size: Int, now: NIODeadline) -> Bool {
        trimmedSize = min(trimmedSize, size)
        return size - trimmedSize >= Self.growth || size - initialSize >= Self.growth && now - trimmed >= Self.age
    }

    /// Records a trim.
    ///
    /// - Parameter size: The size of the process after it.
    mutating func recordTrim(size: Int, now: NIODeadline) { (trimmedSize, trimmed) = (size, now) }
}

/// A detector for a large decrease of a quantity since its last peak.
struct DropDetector {
    /// The minimum decrease. A decrease must also be at least a quarter of the peak.
    let minimumDecrease: Int
    private var peak = 0

    init(minimumDecrease: Int) { self.minimumDecrease = minimumDecrease }

    /// Records the current level. Returns true if the level lies below the peak by a large decrease; the peak then
    /// restarts at this level.
    mutating func record(_ level: Int) -> Bool {
        peak = max(peak, level)
        guard peak - level >= max(minimumDecrease, peak / 4) else { return false }
        peak = level
        return true
    }
}
