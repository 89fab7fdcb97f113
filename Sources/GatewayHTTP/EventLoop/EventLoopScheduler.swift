public import Gateway
internal import NIOCore
public import NIOPosix

/// A scheduler that runs timers and tasks of calls on the event loops of a group.
public final class EventLoopScheduler: CallScheduler {
    private let loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)]

    private init(_ loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)]) { self.loops = loops }

    /// Creates a scheduler for all loops of the group. The group must outlive it.
    public static func start(group: MultiThreadedEventLoopGroup) async throws -> EventLoopScheduler {
        var loops: [(eventLoop: any EventLoop, executor: EventLoopExecutor)] = []
        for eventLoop in group.makeIterator() {
            loops.append((eventLoop, try await eventLoop.submit { EventLoopExecutor(on: eventLoop) }.get()))
        }
        return EventLoopScheduler(loops)
    }

    /// Schedules the work on the current event loop, or on the first loop if the caller is not on a loop of the group.
    public func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer {
        let (seconds, attoseconds) = time.components
        let amount = TimeAmount.nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        // A group has at least one loop.
        return ScheduledWork(task: (current ?? loops[0]).eventLoop.scheduleTask(in: amount, work))
    }

    /// Starts a task on the current event loop and runs it synchronously up to its first suspension. If the caller is
    /// not on a loop of the group, the task is enqueued on the first loop.
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
