internal import GatewayCore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization
internal import UnixSignals

/// Has authenticators read their files again, when one has changed and on SIGHUP.
final class ReloadService: Service {
    private let authenticators: [any ReloadableAuthenticator]
    private let logger: Logger
    /// How often the files are looked at; a change counts within two looks.
    private let period: Duration
    /// Whether all are to be read at the next look, changed or not. So at first: a file may have changed since its authenticator
    /// was made.
    private let everything = Atomic(true)

    init(authenticators: [any ReloadableAuthenticator], logger: Logger, period: Duration = .milliseconds(400)) {
        self.authenticators = authenticators
        self.logger = logger
        self.period = period
    }

    func run() async throws {
        let (looks, look) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask { [self] in
                    for await _ in signals {
                        everything.store(true, ordering: .relaxed)
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
        var watches = authenticators.map { FileWatch($0.files) }
        var standing = authenticators.map { _ in [ConfigurationProblem]() }
        for await _ in looks {
            let all = everything.exchange(false, ordering: .relaxed)
            for (index, authenticator) in authenticators.enumerated() {
                // Looked at before the reading: what changes meanwhile is seen at the next look.
                let isAskedFor = watches[index].look() || all
                // What was not taken is tried at each look: it may have been for want of a thread alone, and a user who was
                // disabled meanwhile must not go on until the file changes once more.
                guard isAskedFor || !standing[index].isEmpty else { continue }
                let problems = await authenticator.reload()
                let isNews = isAskedFor || problems != standing[index]
                standing[index] = problems
                for problem in problems where isNews {
                    logger.error("A file was not taken", metadata: ["problem": "\(problem)"])
                }
            }
        }
    }
}
