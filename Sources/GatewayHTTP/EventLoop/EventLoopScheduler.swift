public import Gateway
internal import NIOCore
public import NIOPosix

/// What calls wait by on the event loops of a group.
public final class EventLoopScheduler: CallScheduler {
    private let loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)]

    private init(_ loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)]) { self.loops = loops }

    /// Readies each loop of the group, which must outlive this.
    public static func start(group: MultiThreadedEventLoopGroup) async throws -> EventLoopScheduler {
        var loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)] = []
        for eventLoop in group.makeIterator() {
            loops.append((eventLoop, try await eventLoop.submit { EventLoopExecutor(on: eventLoop) }.get()))
        }
        return EventLoopScheduler(loops)
    }

    /// Runs the work on the loop that the caller is on; on none of them, on the first.
    public func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer {
        let (seconds, attoseconds) = time.components
        let amount = TimeAmount.nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        // A group has one loop at least.
        return ScheduledWork(task: (current ?? loops[0]).eventLoop.scheduleTask(in: amount, work))
    }

    /// Starts the task within this call on the loop that the caller is on; on none of them, later on the first.
    @discardableResult public func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        guard let current else { return Task(executorPreference: loops[0].executor) { await work() } }
        return Task.immediate(executorPreference: current.executor) { await work() }
    }

    private var current: (eventLoop: any EventLoop, executor: EventLoopExecutor)? {
        guard let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop else { return nil }
        return loops.first { $0.eventLoop === eventLoop }
    }

    private struct ScheduledWork: CallTimer {
        let task: Scheduled<Void>

        func cancel() { task.cancel() }
    }
}
