internal import GatewayCore
internal import GatewaySupport

/// The worker of one pool thread. It is started for a login and replaced after a number of logins or a failure.
struct WorkerSlot: ~Copyable {
    private let source: WorkerSource
    private let loginsPerWorker: Int
    private let clock: @Sendable () -> MonotonicInstant
    private var worker: WorkerConnection?
    private var served = 0
    private(set) var backOff: Backoff

    init(_ settings: PAMPlugin.Settings, clock: @escaping @Sendable () -> MonotonicInstant) {
        source = WorkerSource(settings)
        loginsPerWorker = settings.loginsPerWorker
        backOff = settings.backOff
        self.clock = clock
        worker = nil
    }

    /// Sends a request to the worker and returns its response. Blocks at most until the deadline, and slightly longer
    /// if the worker has to be killed.
    ///
    /// - Returns: the response, and the changes that modules made to the worker. A changed worker is replaced.
    mutating func query(
        _ request: WorkerRequest, until deadline: MonotonicInstant
    ) throws(WorkerConnectionError) -> (answer: WorkerResponse, changes: WorkerChanges) {
        do {
            let worker = try reusableWorker()
            let (answer, changes) = try worker.query(request, until: deadline, clock: clock)
            backOff.succeeded()
            served += 1
            // Only a worker that responded is kept. Any other is destroyed at the end of this scope, which kills it.
            if served < loginsPerWorker, changes.isEmpty { self.worker = consume worker } else { served = 0 }
            return (answer, changes)
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

/// The delay before a new worker is started, after consecutive failures.
struct Backoff: Sendable, Hashable {
    /// The delay after the second consecutive failure; it doubles with each further one. The first failure causes no
    /// delay.
    var initialDelay: Duration = .milliseconds(50)
    /// The maximum delay.
    var maximumDelay: Duration = .seconds(2)
    private(set) var failures = 0

    /// The delay that applies now.
    var delay: Duration {
        guard failures > 1 else { return .zero }
        return min(initialDelay * (1 << min(failures - 2, 16)), maximumDelay)
    }

    /// Records a failure, which increases the delay.
    mutating func failed() { failures = min(failures + 1, 64) }
    /// Records a success, which ends the delay.
    mutating func succeeded() { failures = 0 }
}

/// The source of worker connections.
enum WorkerSource: Sendable {
    /// This program, started as a worker process.
    case program(String, arguments: [String])
    /// A worker service that listens on a socket.
    case service(socket: String)

    init(_ settings: PAMPlugin.Settings) {
        if let socket = settings.socket {
            self = .service(socket: socket)
        } else {
            let arguments = WorkerArguments(service: settings.service, serviceDirectory: settings.serviceDirectory)
            self = .program(settings.program, arguments: arguments.commandLine)
        }
    }

    /// Starts a worker, or connects to the worker service. Blocks.
    func open() throws(WorkerConnectionError) -> WorkerConnection {
        switch self {
        case .program(let program, let arguments):
            try WorkerConnection(spawning: program, arguments: arguments)
        case .service(let socket):
            try WorkerConnection(connectingTo: socket)
        }
    }
}
