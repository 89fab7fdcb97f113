internal import GatewaySupport
internal import NIOCore
public import NIOPosix

/// The tick counter of one event loop. In each tick the loop waits for events and then processes them. Loop-bound.
final class EventLoopTick {
    /// The duration of one tick, divided into waiting and work.
    struct Times: Hashable {
        /// The time until the first event.
        var wait = TimeAmount.zero
        /// The time from the first event to the end of the tick.
        var work = TimeAmount.zero
    }

    // Each thread accesses only its own value.
    private nonisolated(unsafe) static let perThread = ThreadSpecificVariable<EventLoopTick>()

    /// The counter of the current event loop; nil if its group does not count ticks.
    static var current: EventLoopTick? { perThread.currentValue }

    /// The number of completed ticks.
    private(set) var completed: UInt64 = 0
    /// The duration of the last completed tick.
    private(set) var last = Times()
    private var lastEnd: NIODeadline?
    private var workBegan: NIODeadline?

    /// Marks the start of work in the current tick. The caller reports at least the first socket event of each tick.
    func recordWork() {
        if workBegan == nil { workBegan = .now() }
    }

    /// Completes a tick.
    ///
    /// - Parameter tasksBegan: The time when the loop began to run its tasks. Socket events are processed before it.
    func complete(at end: NIODeadline, tasksBegan: NIODeadline) {
        let began = min(workBegan ?? tasksBegan, tasksBegan)
        last = Times(wait: began - (lastEnd ?? began), work: end - began)
        completed &+= 1
        (lastEnd, workBegan) = (end, nil)
    }

    /// Starts the counter of the current event loop.
    fileprivate static func beginCounting() { perThread.currentValue = EventLoopTick() }

    /// The delegate that NIO calls on the loop's thread after each tick.
    fileprivate struct Counter: NIOEventLoopMetricsDelegate {
        func processedTick(info: NIOEventLoopTickInfo) {
            EventLoopTick.current?.complete(at: info.endTime, tasksBegan: info.startTime)
        }
    }
}

@available(*, unavailable)
extension EventLoopTick: Sendable {}

extension EventLoopScheduler {
    /// Creates a group whose loops count their ticks, which a listener needs to adapt its concurrency limit. The caller
    /// shuts the group down.
    public static func makeGroup(threads: Int) async throws -> MultiThreadedEventLoopGroup {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads, metricsDelegate: EventLoopTick.Counter())
        for loop in group.makeIterator() { try await loop.submit { EventLoopTick.beginCounting() }.get() }
        return group
    }
}
