internal import GatewayCore
internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// Has authenticators read their files again, when one has changed and on SIGHUP.
struct ReloadService: Service {
    let authenticators: [any ReloadableAuthenticator]
    let logger: Logger
    /// How often the files are looked at; a change counts within two looks.
    var period = Duration.milliseconds(400)

    func run() async throws {
        let (triggers, trigger) = AsyncStream<Trigger>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let signals = await UnixSignalsSequence(trapping: .sighup)
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    for await _ in signals { trigger.yield(.signal) }
                }
                tasks.addTask {
                    while (try? await Task.sleep(for: period)) != nil { trigger.yield(.look) }
                    trigger.finish()
                }
                tasks.addTask { await reload(on: triggers) }
            }
        }
    }

    enum Trigger: Sendable {
        /// Time to look whether a file has changed.
        case look
        /// Somebody wants all read, changed or not.
        case signal
    }

    /// Reloads what the triggers call for, one after another, until they end.
    func reload(on triggers: some AsyncSequence<Trigger, Never>) async {
        var watches = authenticators.map { FileWatch($0.files) }
        var standing = authenticators.map { _ in [ConfigurationProblem]() }
        for await trigger in triggers {
            for (index, authenticator) in authenticators.enumerated() {
                // Looked at before the reading: what changes meanwhile is seen at the next look.
                let changed = watches[index].look()
                // What was not taken is tried at each look: it may have been for want of a thread alone, and a user who was
                // disabled meanwhile must not go on until the file changes once more.
                guard changed || trigger == .signal || !standing[index].isEmpty else { continue }
                let problems = await authenticator.reload()
                let isNews = changed || trigger == .signal || problems != standing[index]
                standing[index] = problems
                for problem in problems where isNews {
                    logger.error("A file was not taken", metadata: ["problem": "\(problem)"])
                }
            }
        }
    }
}
