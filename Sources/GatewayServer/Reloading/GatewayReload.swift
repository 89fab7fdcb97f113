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
    private let parts: GatewayState
    private let logger: Logger
    private var configuration: ServerConfiguration
    private var made: AuthenticatorAssembly.Made
    private var tls: ConfiguredTLS
    private var running: RunningGateway?

    init(
        from source: ConfigurationSource, configuration: ServerConfiguration, made: AuthenticatorAssembly.Made,
        tls: ConfiguredTLS, parts: GatewayState, logger: Logger
    ) {
        self.source = source
        self.configuration = configuration
        self.made = made
        self.tls = tls
        self.parts = parts
        self.logger = logger
    }

    /// Sets the gateway whose rules are replaced. Before this call, every reload fails.
    func attach(_ running: RunningGateway) { self.running = running }

    /// Reads and replaces the configuration, or returns all of its problems.
    func reload() async -> Outcome {
        let (outcome, problems) = await exchange()
        for problem in problems {
            let level: Logger.Level = problem.severity == .error ? .error : .warning
            logger.log(level: level, "Configuration problem", metadata: ["problem": "\(problem)"])
        }
        switch outcome {
        case .exchanged:
            parts.reloads.exchanged.add()
            logger.notice("Configuration reloaded")
        case .kept:
            parts.reloads.kept.add()
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
        var assembly = parts.assembly(of: new)
        assembly.isReload = true
        let problems =
            found + RestartRequirements(from: configuration, to: new).problems(in: source) + (await assembly.problems())
            + (await certificateProblems(new))
        guard !problems.contains(where: { $0.severity == .error }) else { return kept(problems) }
        let remade: AuthenticatorAssembly.Made
        let renewed: ConfiguredTLS
        do {
            renewed = try tls.renewed(
                from: configuration, to: new, pool: parts.filePool, clocks: parts.clocks, logger: logger)
            remade = try await assembly.make(revocations: parts.stores.sessions, keepingFrom: made)
            try await running.exchange(new, tls: renewed.backend, remade.chain)
        } catch let fault as ConfigurationError {
            return kept(problems + fault.problems)
        } catch let problem as ConfigurationProblem {
            return kept(problems + [problem])
        } catch {
            return kept(problems + [fault("cannot be applied: \(OperatorMessage.of(error))")])
        }
        tls = renewed
        await apply(new, remade)
        // The files' current state was validated above. Changes since then are detected with those of all watched
        // files.
        for certificates in renewed.reloadable { _ = await certificates.reload() }
        return (.exchanged(parts.remembered(remade) + renewed.reloadable, warnings: problems), problems)
    }

    private func certificateProblems(_ new: ServerConfiguration) async -> [ConfigurationProblem] {
        let problems = try? await parts.filePool.run { [clocks = parts.clocks] in
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
        made = remade
        LogWriter.standardError.level = new.log.level
        parts.stores.adopt(new)
        parts.passwordCache.removeAll()
        parts.current.chain.value = remade.chain
        parts.current.made.value = remade
        parts.current.drain.value = new.drain
        parts.current.authentication.value = new.authentication
        parts.current.handles.value = new.backend.handles
        await parts.accounts.watch(remade.lists)
        do throws(LedgerUnavailable) {
            try await parts.stores.sessions.keepAccounts(of: Set(remade.lists.map(\.name)))
        } catch {
            logger.error(
                "Accounts of removed authenticators could not be revoked", metadata: ["detail": "\(error.detail)"])
        }
        parts.review.wake()
    }
}
