internal import NIOCore
public import NIOPosix

/// The turns of an event loop: each waits for its sockets, and then does what came of them. Loop-bound.
final class EventLoopTick {
    /// What a turn took.
    struct Times: Hashable {
        /// How long nothing came.
        var wait = TimeAmount.zero
        /// From the first that came to the end of all that came of it.
        var work = TimeAmount.zero
    }

    // Each thread sees its own alone.
    private nonisolated(unsafe) static let ofThread = ThreadSpecificVariable<EventLoopTick>()

    /// That of the loop that the caller is on; nil where its group does not count.
    static var current: EventLoopTick? { ofThread.currentValue }

    /// How many have ended.
    private(set) var ended: UInt64 = 0
    /// What the last one took.
    private(set) var last = Times()
    private var lastEnd: NIODeadline?
    private var workBegan: NIODeadline?

    /// Something came from a socket. Who asks about turns tells this, of the first in a turn at least.
    func workBegins() {
        if workBegan == nil { workBegan = .now() }
    }

    /// A turn has ended, whose tasks began then; what came from sockets came before.
    func end(at end: NIODeadline, tasksBegan: NIODeadline) {
        let began = min(workBegan ?? tasksBegan, tasksBegan)
        last = Times(wait: began - (lastEnd ?? began), work: end - began)
        ended &+= 1
        (lastEnd, workBegan) = (end, nil)
    }

    /// Has the loop that the caller is on count from now on.
    fileprivate static func beginCounting() { ofThread.currentValue = EventLoopTick() }

    /// NIO tells its delegate when a turn is over, on the loop's own thread.
    fileprivate struct Counter: NIOEventLoopMetricsDelegate {
        func processedTick(info: NIOEventLoopTickInfo) {
            EventLoopTick.current?.end(at: info.endTime, tasksBegan: info.startTime)
        }
    }
}

@available(*, unavailable)
extension EventLoopTick: Sendable {}

extension EventLoopScheduler {
    /// A group whose loops count their turns, so that a listener has no more calls in flight than keep them short. The caller
    /// shuts it down.
    public static func makeGroup(threads: Int) async throws -> MultiThreadedEventLoopGroup {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads, metricsDelegate: EventLoopTick.Counter())
        for loop in group.makeIterator() { try await loop.submit { EventLoopTick.beginCounting() }.get() }
        return group
    }
}
