internal import GatewaySupport

/// The worker of one pool thread. It is started for a request and replaced after a number of requests or a failure.
struct WorkerSlot: ~Copyable {
    private let source: WorkerSource
    private let requestsPerWorker: Int
    private let clock: @Sendable () -> MonotonicInstant
    private var worker: WorkerConnection?
    private var served = 0
    private(set) var backOff: Backoff

    init(_ settings: WorkerPoolSettings, clock: @escaping @Sendable () -> MonotonicInstant) {
        source = settings.source
        requestsPerWorker = settings.requestsPerWorker
        backOff = settings.backoff
        self.clock = clock
        worker = nil
    }

    /// Sends a request to the worker and returns its response. Blocks at most until the deadline, and slightly longer
    /// if the worker has to be killed.
    ///
    /// A worker is replaced if its response says so.
    mutating func query<Query: WorkerQuery>(
        _ request: Query, until deadline: MonotonicInstant
    ) throws(WorkerConnectionError) -> Query.Response {
        do {
            let worker = try reusableWorker()
            let response = try worker.query(request, until: deadline, clock: clock)
            backOff.succeeded()
            served += 1
            // Only a worker that responded is kept. Any other is destroyed at the end of this scope, which kills it.
            if served < requestsPerWorker, Query.allowsReuse(after: response) {
                self.worker = consume worker
            } else {
                served = 0
            }
            return response
        } catch {
            served = 0
            // A worker that timed out has already used its time, so its successor may start at once.
            if error == .timedOut { backOff.succeeded() } else { backOff.failed() }
            throw error
        }
    }

    /// Returns the kept worker if it is alive and has sent nothing since its last response, otherwise a new one.
    private mutating func reusableWorker() throws(WorkerConnectionError) -> WorkerConnection {
        if let kept = worker.take(), kept.hasNoPendingInput { return kept }
        served = 0
        return try source.open()
    }
}
