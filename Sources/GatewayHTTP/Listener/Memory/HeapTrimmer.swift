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
    private let isRepeatScheduled = Atomic(false)
    private let isRequired = Atomic(false)
    private let policy: Mutex<TrimPolicy>
    private let resident: @Sendable () -> Int
    private let trim: @Sendable () -> Void

    /// Creates a trimmer with nothing scheduled.
    ///
    /// - Parameters:
    ///   - resident: Returns the resident memory of the process besides files, in bytes; 0 if it is unknown.
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
        schedule(in: delay) { $0.isScheduled.store(false, ordering: .relaxed) }
    }

    private func schedule(in delay: TimeAmount, _ begin: @escaping @Sendable (HeapTrimmer) -> Void) {
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        loop.scheduleTask(in: delay) {
            begin(self)
            NIOThreadPool.singleton.submit { _ in self.trimIfDue() }
        }
    }

    private func trimIfDue() {
        let isRequired = isRequired.exchange(false, ordering: .relaxed)
        let pause: TimeAmount? = policy.withLock { policy in
            let size = resident()
            guard let pause = isRequired ? .zero : policy.pause(size: size, now: .now()) else { return nil }
            if pause > .zero { return pause }
            trim()
            let left = resident()
            policy.recordTrim(from: size, to: left, now: .now())
            return policy.pause(size: left, now: .now())
        }
        // Perhaps no other connection closes.
        guard let pause, !isRepeatScheduled.exchange(true, ordering: .relaxed) else { return }
        schedule(in: pause) { $0.isRepeatScheduled.store(false, ordering: .relaxed) }
    }
}

/// The rule by which the heap is trimmed without a known decrease of the memory in use.
///
/// A trim of 60 MiB takes milliseconds, in which the allocator blocks other threads. It is due if the process has grown
/// since the last trim, or after a pause if it is larger than at the start: memory that was in use then may be free now.
/// The pause doubles with each trim that released little.
struct TrimPolicy {
    /// The growth after which a trim is due, in bytes.
    static let growth = 16 << 20
    /// The size that a trim must release for the shortest pause, in bytes.
    static let success = 4 << 20
    /// The time after which a trim of a grown process is repeated.
    static let pauses = TimeAmount.seconds(2)...TimeAmount.seconds(60)

    private let initialSize: Int
    private var trimmedSize: Int
    private var trimmed: NIODeadline
    private var minimumPause = Self.pauses.lowerBound

    /// - Parameter size: The size of the process now, in bytes.
    init(size: Int, now: NIODeadline) {
        (initialSize, trimmedSize, trimmed) = (size, size, now)
    }

    /// Returns the time until a trim of a process of this size is due, at least zero; nil if none will be.
    mutating func pause(size: Int, now: NIODeadline) -> TimeAmount? {
        trimmedSize = min(trimmedSize, size)
        if size - trimmedSize >= Self.growth { return .zero }
        return size - initialSize >= Self.growth ? max(.zero, minimumPause - (now - trimmed)) : nil
    }

    /// Records a trim.
    ///
    /// - Parameters:
    ///   - before: The size of the process before it.
    ///   - size: The size of the process after it.
    mutating func recordTrim(from before: Int, to size: Int, now: NIODeadline) {
        (trimmedSize, trimmed) = (size, now)
        minimumPause =
            before - size >= Self.success ? Self.pauses.lowerBound : min(minimumPause * 2, Self.pauses.upperBound)
    }
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
