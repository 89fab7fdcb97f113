internal import CMalloc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Returns memory to the system that a peak of clients has left free. The allocator would keep it: what is still in use lies between.
///
/// Used from any loop. The work is done on a thread that may block, once for all that ask for it within `pause`.
final class HeapTrimmer: Sendable {
    /// How long to wait for more to become free.
    private static let pause = TimeAmount.seconds(2)

    private let isScheduled = Atomic(false)
    private let trim: @Sendable () -> Void

    /// - Parameter trim: what returns the memory; the allocator's own function unless given.
    init(_ trim: @escaping @Sendable () -> Void = { notify_gateway_trim_heap() }) { self.trim = trim }

    /// Has the heap trimmed soon.
    func schedule() {
        guard !isScheduled.exchange(true, ordering: .relaxed) else { return }
        let loop = MultiThreadedEventLoopGroup.currentEventLoop ?? MultiThreadedEventLoopGroup.singleton.any()
        loop.scheduleTask(in: Self.pause) {
            self.isScheduled.store(false, ordering: .relaxed)
            NIOThreadPool.singleton.submit { _ in self.trim() }
        }
    }
}

/// Tells when a quantity has fallen far below its last peak.
struct PeakDetector {
    /// By how much it has to fall at least; and by a quarter of the peak.
    let least: Int
    private var peak = 0

    init(least: Int) { self.least = least }

    /// Notes where the quantity stands. Says whether it has fallen far; then this is where the next peak begins.
    mutating func hasFallen(to level: Int) -> Bool {
        peak = max(peak, level)
        guard peak - level >= max(least, peak / 4) else { return false }
        peak = level
        return true
    }
}
