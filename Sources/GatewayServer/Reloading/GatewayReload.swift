internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import Logging

/// Reads the whole configuration again and puts it in the place of the present one, as one: everything is validated before
/// anything changes. Calls under way end by the rules that they began by.
actor GatewayReload {
    /// What came of a reload.
    enum Outcome: Sendable {
        /// The new configuration counts, with these warnings. From now on this lives on files.
        case exchanged([any ReloadableFiles], warnings: [ConfigurationProblem])
        /// Everything is as it was, because of these.
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

    /// Names the gateway whose rules are exchanged. Before this nothing can be.
    func attach(_ running: RunningGateway) { self.running = running }

    /// Reads and exchanges, or says everything that is wrong.
    func reload() async -> Outcome {
        let (outcome, problems) = await exchange()
        for problem in problems {
            let level: Logger.Level = problem.severity == .error ? .error : .warning
            logger.log(level: level, "The configuration was read again", metadata: ["problem": "\(problem)"])
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
        guard let running else { return kept([fault("is read again once the gateway has started")]) }
        let (read, found) = source.load()
        guard let new = read else { return kept(found) }
        // What authenticators find in their files is said together with what needs a restart: all at once.
        let assembly = parts.assembly(of: new)
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
            return kept(problems + [fault("cannot be put to use: \(OperatorMessage.of(error))")])
        }
        tls = renewed
        await apply(new, remade)
        // What they say now was looked over above; what has changed since is looked at again with all files.
        for certificates in renewed.reloadable { _ = await certificates.reload() }
        return (.exchanged(parts.remembered(remade) + renewed.reloadable, warnings: problems), problems)
    }

    private func certificateProblems(_ new: ServerConfiguration) async -> [ConfigurationProblem] {
        let problems = try? await parts.filePool.run { [clocks = parts.clocks] in
            ConfiguredTLS.problems(new, clocks: clocks)
        }
        return problems
            ?? [ConfigurationProblem(at: SourceLocation(file: source.file), path: "", "was not read: too busy")]
    }

    /// What follows from a configuration that counts already.
    private func apply(_ new: ServerConfiguration, _ remade: AuthenticatorAssembly.Made) async {
        configuration = new
        made = remade
        LogWriter.standardError.level = new.log.level
        parts.stores.adopt(new)
        parts.passwordCache.forget()
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
