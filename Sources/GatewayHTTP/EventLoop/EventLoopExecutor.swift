internal import NIOCore

/// Runs tasks on one event loop, so that an `async` function can be the whole way of a call and never leave its loop.
///
/// Jobs that become ready in one turn of the loop wait in a queue of the loop's own and run as one batch: one closure
/// handed to the loop instead of one a job. Make it on its loop.
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
        // Jobs that these make ready wait for the next batch, so that tasks cannot keep the loop from its sockets.
        for _ in 0..<queue.jobs.count {
            guard let job = queue.jobs.popFirst() else { break }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
        queue.isScheduled = !queue.jobs.isEmpty
        if queue.isScheduled { loop.execute { self.runBatch() } }
    }
}
