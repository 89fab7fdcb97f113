internal import GatewayCore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

/// Reads again what the gateway was configured by: files of users, keys and certificates when one has changed, and everything as one on SIGHUP
/// and when an operator asks.
final class ReloadService: Service {
    private let subjects: [any ReloadableFiles]
    private let accounts: AccountMonitor?
    /// Reads and exchanges everything; nil where the configuration did not come from a file.
    private let whole: GatewayReload?
    private let notifier: ServiceNotifier?
    private let logger: Logger
    /// How often the files are looked at; a change counts within two looks.
    private let period: Duration
    private let demand = Mutex(Demand())
    /// When it is time to look.
    let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation

    /// What the next look is asked for beyond files that have changed.
    private struct Demand {
        /// Whether everything is to be read, changed or not.
        var isForAll = false
        /// Who waits for what is wrong then.
        var waiting: [CheckedContinuation<[ConfigurationProblem]?, Never>] = []
        /// Whether there will be no more looks.
        var hasEnded = false
    }

    /// - Parameters:
    ///   - subjects: what lives on files, at first.
    ///   - accounts: looked at after each look at the files.
    init(
        _ subjects: [any ReloadableFiles], accounts: AccountMonitor? = nil, whole: GatewayReload? = nil,
        notifier: ServiceNotifier? = nil, logger: Logger, period: Duration = .milliseconds(400)
    ) {
        self.subjects = subjects
        self.accounts = accounts
        self.whole = whole
        self.notifier = notifier
        self.logger = logger
        self.period = period
        (looks, look) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has everything read again, as SIGHUP does, and answers with what is wrong with it; nil where the gateway stops first.
    func reloadNow() async -> [ConfigurationProblem]? {
        await withCheckedContinuation { waiter in
            let hasEnded = demand.withLock { demand in
                if demand.hasEnded { return true }
                demand.isForAll = true
                demand.waiting.append(waiter)
                return false
            }
            if hasEnded { waiter.resume(returning: nil) } else { look.yield() }
        }
    }

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask { [self] in
                    for await _ in signals {
                        demand.withLock { $0.isForAll = true }
                        look.yield()
                    }
                }
                tasks.addTask { [self] in
                    while (try? await Task.sleep(for: period)) != nil { look.yield() }
                    look.finish()
                }
                tasks.addTask { [self] in await reload(on: looks) }
            }
        }
    }

    /// Looks at the files whenever it is time, and has those read that call for it, until the looks end.
    func reload(on looks: some AsyncSequence<Void, Never>) async {
        var files = WatchedFiles(subjects, logger: logger)
        for await _ in looks {
            let (all, waiting) = demand.withLock { demand in
                defer { (demand.isForAll, demand.waiting) = (false, []) }
                return (demand.isForAll, demand.waiting)
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
                if await files.look(all: all) { await accounts?.listsHaveChanged() }
                problems = files.problems
            }
            await accounts?.look()
            if all { notifier?.ready() }
            for waiter in waiting { waiter.resume(returning: problems) }
        }
        let left = demand.withLock { demand in
            demand.hasEnded = true
            defer { demand.waiting = [] }
            return demand.waiting
        }
        for waiter in left { waiter.resume(returning: nil) }
    }
}
