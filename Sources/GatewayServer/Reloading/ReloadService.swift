internal import GatewayCore
internal import GatewayOperations
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

/// The service that reloads files of users, keys and certificates when they change, and the whole configuration on
/// SIGHUP or an operator's request.
final class ReloadService: Service {
    private let subjects: [any ReloadableFiles]
    private let accounts: AccountMonitor?
    /// The reload of the whole configuration; nil if it did not come from a file.
    private let whole: GatewayReload?
    private let notifier: ServiceNotifier?
    private let logger: Logger
    /// The period of checks for changed files. A change takes effect within two periods, unless it takes something from
    /// several entries of a file at once (`FileSettling`).
    private let period: Duration
    private let request: Mutex<Request>
    /// Yields a value for each check of the files.
    let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation

    /// The requests for the next check in addition to changed files.
    private struct Request {
        /// Whether everything is read, changed or not.
        var isForAll = false
        /// The callers that wait for the problems of the next check.
        var waiting: [CheckedContinuation<[ConfigurationProblem]?, Never>] = []
        /// Whether the gateway serves. Until then requests wait, and only changed files are read.
        var hasStarted: Bool
        /// Whether the service has stopped, so no further check happens.
        var hasEnded = false
        /// The end of the last check; nil while one runs.
        var checked: ContinuousClock.Instant? = .now
    }

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - subjects: The objects that read files, until the first reload of the whole configuration.
    ///   - accounts: The account lists to compare after each check of the files.
    ///   - awaitsStart: Whether requests wait for ``gatewayStarted()``.
    init(
        _ subjects: [any ReloadableFiles], accounts: AccountMonitor? = nil, whole: GatewayReload? = nil,
        notifier: ServiceNotifier? = nil, logger: Logger, period: Duration = .milliseconds(250),
        awaitsStart: Bool = false
    ) {
        request = Mutex(Request(hasStarted: !awaitsStart))
        self.subjects = subjects
        self.accounts = accounts
        self.whole = whole
        self.notifier = notifier
        self.logger = logger
        self.period = period
        (wakeUps, wakeUp) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Carries out the requests that wait for the start, and later ones at once. Called when the gateway serves.
    func gatewayStarted() {
        request.withLock { $0.hasStarted = true }
        wakeUp.yield()
    }

    /// Reads everything again, as SIGHUP does, and returns the problems; nil if the gateway stops first.
    func reloadNow() async -> [ConfigurationProblem]? {
        await withCheckedContinuation { waiter in
            let hasEnded = request.withLock { request in
                if request.hasEnded { return true }
                request.isForAll = true
                request.waiting.append(waiter)
                return false
            }
            if hasEnded { waiter.resume(returning: nil) } else { wakeUp.yield() }
        }
    }

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        if EarlyHangUp.take() {
            request.withLock { $0.isForAll = true }
            wakeUp.yield()
        }
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask { [self] in
                    for await _ in signals {
                        request.withLock { $0.isForAll = true }
                        wakeUp.yield()
                    }
                }
                tasks.addTask { [self] in
                    var pause = period
                    while (try? await Task.sleep(for: pause)) != nil {
                        pause = untilNextCheck
                        if pause > .zero { continue }
                        wakeUp.yield()
                        pause = period
                    }
                    wakeUp.finish()
                }
                tasks.addTask { [self] in await reload(on: wakeUps) }
            }
        }
    }

    /// The time until the next regular check. It comes a whole period after the last one, because a look right after another
    /// shows nothing about a file that is being written.
    private var untilNextCheck: Duration {
        guard let checked = request.withLock(\.checked) else { return period }
        return period - (.now - checked)
    }

    /// Checks the files for each value of the sequence and reloads those that have changed, until the sequence ends.
    func reload(on wakeUps: some AsyncSequence<Void, Never>) async {
        var files = WatchedFiles(subjects, logger: logger)
        for await _ in wakeUps {
            let (all, waiting) = request.withLock {
                request -> (Bool, [CheckedContinuation<[ConfigurationProblem]?, Never>]) in
                request.checked = nil
                if !request.hasStarted { return (false, []) }
                defer { (request.isForAll, request.waiting) = (false, []) }
                return (request.isForAll, request.waiting)
            }
            if all { notifier?.reloading() }
            var problems: [ConfigurationProblem] = []
            if all, let whole {
                switch await whole.reload() {
                case .exchanged(let subjects, let warnings):
                    files = WatchedFiles(subjects, logger: logger)
                    problems = warnings
                case .kept(let faults):
                    problems = faults
                }
            } else {
                if await files.reloadChanged(all: all) { await accounts?.listsHaveChanged() }
                problems = files.problems
            }
            await accounts?.compare()
            request.withLock { $0.checked = .now }
            if all { notifier?.ready() }
            for waiter in waiting { waiter.resume(returning: problems) }
        }
        let left = request.withLock { request in
            request.hasEnded = true
            defer { request.waiting = [] }
            return request.waiting
        }
        for waiter in left { waiter.resume(returning: nil) }
    }
}
