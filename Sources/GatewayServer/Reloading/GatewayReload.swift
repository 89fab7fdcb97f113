internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging

/// Reads the whole configuration again and replaces the current one in one step. Everything is validated before
/// anything changes. Calls in progress complete under the rules that they started with.
actor GatewayReload {
    /// The result of a reload.
    enum Outcome: Sendable {
        /// The new configuration is in effect, with these warnings. The given objects read files from now on.
        case exchanged([any ReloadableFiles], warnings: [ConfigurationProblem])
        /// Nothing has changed, because of these problems.
        case kept([ConfigurationProblem])
    }

    private let source: ConfigurationSource
    private let context: ServerContext
    private let subsystems: Subsystems
    private var logger: Logger { context.logger }
    private var configuration: ServerConfiguration
    private var tls: ConfiguredTLS
    private var running: RunningGateway?

    init(
        from source: ConfigurationSource, _ context: ServerContext, _ subsystems: Subsystems, tls: ConfiguredTLS
    ) {
        self.source = source
        self.context = context
        self.subsystems = subsystems
        self.tls = tls
        configuration = context.configuration
    }

    /// Sets the gateway whose rules are replaced. Before this call, every reload fails.
    func attach(_ running: RunningGateway) { self.running = running }

    /// Reads and replaces the configuration, or returns all of its problems.
    func reload() async -> Outcome {
        let (outcome, problems) = await exchange()
        for problem in problems {
            let level: Logger.Level =
                switch problem.severity {
                case .error: .error
                case .warning: .warning
                case .note: .info
                }
            logger.log(level: level, "Configuration problem", metadata: ["problem": "\(problem)"])
        }
        switch outcome {
        case .exchanged:
            context.reloads.exchanged.add()
            logger.notice("Configuration reloaded")
        case .kept:
            context.reloads.kept.add()
            logger.error("Configuration rejected; the previous one stays in effect")
        }
        return outcome
    }

    private func exchange() async -> (Outcome, [ConfigurationProblem]) {
        func kept(_ problems: [ConfigurationProblem]) -> (Outcome, [ConfigurationProblem]) {
            (.kept(problems), problems)
        }
        func fault(_ message: String) -> ConfigurationProblem {
            ConfigurationProblem(at: SourceLocation(file: source.file), path: "", message)
        }
        guard let running else { return kept([fault("cannot be reloaded before the gateway has started")]) }
        let (read, found) = source.load()
        guard let new = read else { return kept(found) }
        // Problems in authenticators' files are reported together with the settings that need a restart.
        let problems =
            found + RestartRequirements(from: configuration, to: new).problems(in: source)
            + (await subsystems.authenticators.problems(of: new)) + (await certificateProblems(new))
            + (await subsystems.accounts.removalWarnings(from: configuration, to: new, file: source.file))
        guard !problems.contains(where: { $0.severity == .error }) else { return kept(problems) }
        let remade: AuthenticatorAssembly.Made
        let renewed: ConfiguredTLS
        do {
            renewed = try tls.renewed(
                from: configuration, to: new, pool: context.threads.filePool, clocks: context.clocks, logger: logger)
            remade = try await subsystems.authenticators.remake(for: new)
            try await running.exchange(new, tls: renewed.backends, remade.chain)
            // Before anything else, and before the recheck, which ends what began earlier.
            subsystems.stores.stores.sessions.withdraw(remade.withdrawn)
        } catch let fault as ConfigurationError {
            return kept(problems + fault.problems)
        } catch let problem as ConfigurationProblem {
            return kept(problems + [problem])
        } catch {
            return kept(problems + [fault("cannot be applied: \(OperatorMessage.of(error))")])
        }
        tls = renewed
        // An authenticator that was kept reads its files now. A file that does not count yet is a warning.
        var unread: [ConfigurationProblem] = []
        for authenticator in remade.kept { unread += await authenticator.reload() }
        await apply(new, remade)
        // The files' current state was validated above. Changes since then are detected with those of all watched
        // files.
        for certificates in renewed.reloadable { _ = await certificates.reload() }
        return (
            .exchanged(
                subsystems.calls.clearingPasswordCache(remade) + renewed.reloadable + [fences(of: new)],
                warnings: problems + unread),
            problems + unread
        )
    }

    /// Reads the files of the current configuration's fences again. If their areas differ, new calls use the new ones;
    /// nothing else changes. Returns the problems of the files, in which case nothing changes.
    func reloadFences() async -> [ConfigurationProblem] {
        guard let running, !configuration.fenceFiles.isEmpty else { return [] }
        var new = configuration
        do {
            new.policy.fences = try await context.threads.filePool.run { [files = new.fenceFiles] in
                Result { () throws(ConfigurationError) in try FenceFile.read(files) }
            }.get()
            guard new.policy.fences != configuration.policy.fences else { return [] }
            try await running.exchange(new, tls: tls.backends, subsystems.authenticators.chain.value)
        } catch let fault as ConfigurationError {
            return fault.problems
        } catch {
            let reason = error is BlockingPool.Unavailable ? "too many pending tasks" : OperatorMessage.of(error)
            return [
                ConfigurationProblem(
                    at: SourceLocation(file: source.file), path: "fences", "were not replaced: \(reason)")
            ]
        }
        configuration = new
        logger.notice("Fences replaced")
        return []
    }

    /// Returns the object that reads the fences' files of a configuration when they change.
    nonisolated func fences(of configuration: ServerConfiguration) -> any ReloadableFiles {
        ReloadableFences(files: configuration.fenceFiles.map(\.path), gateway: self)
    }

    private func certificateProblems(_ new: ServerConfiguration) async -> [ConfigurationProblem] {
        let problems = try? await context.threads.filePool.run { [clocks = context.clocks] in
            ConfiguredTLS.problems(new, clocks: clocks)
        }
        return problems
            ?? [
                ConfigurationProblem(
                    at: SourceLocation(file: source.file), path: "", "was not read: too many pending tasks")
            ]
    }

    /// Applies a configuration that is already in effect to everything outside the request pipeline.
    private func apply(_ new: ServerConfiguration, _ remade: AuthenticatorAssembly.Made) async {
        configuration = new
        LogWriter.standardError.level = new.log.level
        for participant in subsystems.participants { await participant.adopt(new, remade) }
    }
}

/// The files of a configuration's fences, which apply to new calls when they change.
private struct ReloadableFences: ReloadableFiles {
    let files: [String]
    let gateway: GatewayReload

    func reload() async -> [ConfigurationProblem] { await gateway.reloadFences() }
}
