internal import GatewayCore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

/// Has authenticators and certificates read from their files again, when one has changed and on SIGHUP.
final class ReloadService: Service {
    private let subjects: [any ReloadableFiles]
    private let accounts: AccountWatch?
    private let logger: Logger
    /// How often the files are looked at; a change counts within two looks.
    private let period: Duration
    private let demand = Mutex(Demand())
    /// When it is time to look.
    let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation

    /// What the next look is asked for beyond files that have changed.
    private struct Demand {
        /// Whether all are to be read, changed or not. So at first: a file may have changed since it was first read.
        var isForAll = true
        /// Who waits for what is wrong then.
        var waiting: [CheckedContinuation<[ConfigurationProblem]?, Never>] = []
        /// Whether there will be no more looks.
        var hasEnded = false
    }

    /// - Parameters:
    ///   - subjects: what lives on files.
    ///   - accounts: looked at after each look at the files.
    init(
        _ subjects: [any ReloadableFiles], accounts: AccountWatch? = nil, logger: Logger,
        period: Duration = .milliseconds(400)
    ) {
        self.subjects = subjects
        self.accounts = accounts
        self.logger = logger
        self.period = period
        (looks, look) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has all files read again, as SIGHUP does, and answers with what is wrong with them; nil where the
    /// gateway stops first.
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
        var watches = subjects.map { FileWatch($0.files) }
        var standing = subjects.map { _ in [ConfigurationProblem]() }
        for await _ in looks {
            let (all, waiting) = demand.withLock { demand in
                defer { (demand.isForAll, demand.waiting) = (false, []) }
                return (demand.isForAll, demand.waiting)
            }
            for (index, subject) in subjects.enumerated() {
                // Looked at before the reading: what changes meanwhile is seen at the next look.
                let isAskedFor = watches[index].look() || all
                // What was not taken is tried at each look: it may have been for want of a thread alone, and a user who was
                // disabled meanwhile must not go on until the file changes once more.
                guard isAskedFor || !standing[index].isEmpty else { continue }
                let problems = await subject.reload()
                if problems.isEmpty { await accounts?.listsHaveChanged() }
                let isNews = isAskedFor || problems != standing[index]
                standing[index] = problems
                for problem in problems where isNews {
                    logger.error("A file was not taken", metadata: ["problem": "\(problem)"])
                }
            }
            await accounts?.look()
            for waiter in waiting { waiter.resume(returning: standing.flatMap(\.self)) }
        }
        let left = demand.withLock { demand in
            demand.hasEnded = true
            defer { demand.waiting = [] }
            return demand.waiting
        }
        for waiter in left { waiter.resume(returning: nil) }
    }
}
