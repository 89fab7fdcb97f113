internal import GatewayCore

/// One thread's place for a worker: started when there is a login, replaced after so many, or when it fails.
struct WorkerSlot: ~Copyable {
    private let source: WorkerSource
    private let loginsPerWorker: Int
    private let clock: @Sendable () -> MonotonicInstant
    private var worker: WorkerConnection?
    private var served = 0
    private(set) var backOff: BackOff

    init(_ settings: PAMPlugin.Settings, clock: @escaping @Sendable () -> MonotonicInstant) {
        source = WorkerSource(settings)
        loginsPerWorker = settings.loginsPerWorker
        backOff = settings.backOff
        self.clock = clock
        worker = nil
    }

    /// Has a worker judge. Blocks until the deadline at most, and a moment more where the worker has to be killed.
    ///
    /// - Returns: the answer, and what a module has changed of the worker, which is then replaced.
    mutating func ask(
        _ request: WorkerRequest, until deadline: MonotonicInstant
    ) throws(WorkerFault) -> (answer: WorkerAnswer, changes: WorkerChanges) {
        do {
            let worker = try quietWorker()
            let (answer, changes) = try worker.ask(request, until: deadline, clock: clock)
            backOff.succeeded()
            served += 1
            // Only a worker that has answered is kept. Any other goes with this scope, and is killed by that.
            if served < loginsPerWorker, changes.isEmpty { self.worker = consume worker } else { served = 0 }
            return (answer, changes)
        } catch {
            served = 0
            // One that was slow has used up its time already; starting the next at once does no harm.
            if error == .timedOut { backOff.succeeded() } else { backOff.failed() }
            throw error
        }
    }

    /// The worker of the login before, if it has stayed alive and silent since; otherwise a new one.
    private mutating func quietWorker() throws(WorkerFault) -> WorkerConnection {
        if let kept = worker.take(), kept.isQuiet { return kept }
        served = 0
        return try source.open()
    }
}
