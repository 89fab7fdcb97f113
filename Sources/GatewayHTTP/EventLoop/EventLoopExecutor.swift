internal import NIOCore

/// A task executor that runs all jobs on one event loop. An `async` function that prefers it runs the complete request
/// pipeline without leaving the loop.
///
/// Jobs that become ready in one tick of the loop form one batch, so that a batch costs one closure on the loop. Create
/// it on its loop; `enqueue` may be called from any thread.
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
