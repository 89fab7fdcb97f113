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

/// A task executor that runs all jobs on one event loop. A task that is started with this executor preference runs the
/// complete request pipeline on the loop.
///
/// Jobs enqueued during one tick of the loop form a batch, which needs only one `execute` call. Create it on its loop;
/// `enqueue` may be called from any thread.
final class EventLoopExecutor: TaskExecutor {
    private final class Queue {
        var jobs = CircularBuffer<UnownedJob>(initialCapacity: 64)
        var isScheduled = false
    }

    private let loop: any EventLoop
    private let queue: NIOLoopBound<Queue>

    init(on loop: any EventLoop) {
        self.loop = loop
        self.queue = NIOLoopBound(Queue(), eventLoop: loop)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if loop.inEventLoop {
            append(job)
        } else {
            loop.execute { self.append(job) }
        }
    }

    private func append(_ job: UnownedJob) {
        let queue = queue.value
        queue.jobs.append(job)
        if queue.isScheduled { return }
        queue.isScheduled = true
        loop.execute { self.runBatch() }
    }

    private func runBatch() {
        let queue = queue.value
        // A job that becomes ready now runs in the next batch, so that tasks cannot starve the loop's sockets.
        for _ in 0..<queue.jobs.count {
            guard let job = queue.jobs.popFirst() else { break }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        queue.isScheduled = !queue.jobs.isEmpty
        if queue.isScheduled { loop.execute { self.runBatch() } }
    }
}
