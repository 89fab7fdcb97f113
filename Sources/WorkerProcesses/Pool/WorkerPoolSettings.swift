package import Logging

/// The workers of a pool, their number, and the limits of a request.
package struct WorkerPoolSettings: Sendable {
    /// The source of the workers.
    package var source: WorkerSource
    /// The number of concurrent requests, each in its own process.
    package var workers: Int
    /// The maximum duration of a request, with the time in the queue. At most a minute.
    package var deadline: Duration
    /// The number of requests that may wait for a worker. One address may use a quarter.
    package var queue: Int
    /// The number of requests after which a worker is replaced, because the libraries in it leak memory and
    /// descriptors.
    package var requestsPerWorker: Int
    /// The delay before a new worker after workers that failed.
    package var backoff: Backoff
    /// The message of the log for a worker that failed.
    package var failureMessage: Logger.Message

    /// Creates settings.
    package init(
        source: WorkerSource, workers: Int, deadline: Duration, queue: Int, failureMessage: Logger.Message,
        requestsPerWorker: Int = 100, backoff: Backoff = Backoff()
    ) {
        self.source = source
        self.workers = workers
        self.deadline = deadline
        self.queue = queue
        self.requestsPerWorker = requestsPerWorker
        self.backoff = backoff
        self.failureMessage = failureMessage
    }
}
