internal import GatewayCore
public import GatewaySupport
internal import NIOCore
public import NIOPosix
internal import Synchronization

/// A monitor that measures the scheduling delay of each event loop of a group, ten times a second.
public final class EventLoopLagMonitor: Sendable {
    private let loops: [Loop]
    private let tasks: [RepeatedTask]
    private let clocks: Clocks

    private static let period = TimeAmount.milliseconds(100)

    private final class Loop: Sendable {
        let last: Atomic<Int64>
        let lateness = Histogram(.latencies)

        init(now: Int64) { last = Atomic(now) }
    }

    /// Starts the monitor on all loops of the group. It runs until `stop()`.
    public init(group: MultiThreadedEventLoopGroup, clocks: Clocks = .system) {
        var loops: [Loop] = []
        var tasks: [RepeatedTask] = []
        for eventLoop in group.makeIterator() {
            let loop = Loop(now: clocks.monotonic().nanoseconds)
            loops.append(loop)
            tasks.append(
                eventLoop.scheduleRepeatedTask(initialDelay: Self.period, delay: Self.period) { _ in
                    let now = clocks.monotonic().nanoseconds
                    let before = loop.last.exchange(now, ordering: .relaxed)
                    loop.lateness.observe(max(0, now - before - Self.period.nanoseconds))
                })
        }
        self.loops = loops
        self.tasks = tasks
        self.clocks = clocks
    }

    /// One histogram for each loop: the delay of its periodic task, in nanoseconds.
    public var lateness: [Histogram.Reading] { loops.map(\.lateness.reading) }

    /// Returns whether the periodic task of every loop ran within the given time.
    public func isResponsive(within time: Duration) -> Bool {
        let (seconds, attoseconds) = time.components
        let oldest = clocks.monotonic().nanoseconds - seconds * 1_000_000_000 - attoseconds / 1_000_000_000
        return loops.allSatisfy { $0.last.load(ordering: .relaxed) >= oldest }
    }

    /// Stops the monitor.
    public func stop() { for task in tasks { task.cancel() } }
}
