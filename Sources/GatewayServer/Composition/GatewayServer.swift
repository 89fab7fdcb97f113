internal import Gateway
public import GatewayCore
internal import GatewayStore
public import Logging
internal import NIOCore
internal import NIOPosix
internal import NotifyBackend
internal import ServiceLifecycle
internal import UnixSignals

/// The whole gateway as one thing that runs: stores, backend, listeners, admin, put together from a configuration.
public struct GatewayServer: Sendable {
    private let configuration: ServerConfiguration
    private let logger: Logger
    private let clocks: Clocks
    private let acceptsIdentityChange: Bool
    private let onStarted: @Sendable (StartedGateway) async -> Void

    /// A gateway for a configuration.
    ///
    /// - Parameters:
    ///   - acceptsIdentityChange: whether it starts although `identity` is not what the ledger's names were made by.
    ///   - onStarted: called once, when all listeners accept connections.
    public init(
        configuration: ServerConfiguration, logger: Logger, clocks: Clocks = .system,
        acceptsIdentityChange: Bool = false,
        onStarted: @escaping @Sendable (StartedGateway) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.logger = logger
        self.clocks = clocks
        self.acceptsIdentityChange = acceptsIdentityChange
        self.onStarted = onStarted
    }

    /// Runs until SIGTERM, SIGINT, graceful shutdown of the surrounding service group, or cancellation. Calls in flight are
    /// finished first.
    ///
    /// - Throws: `ConfigurationFault` for what `check` would have found, and the errors of stores and sockets.
    public func run() async throws {
        FileDescriptorLimit.raise(logger: logger)
        if !configuration.policy.isEnforced {
            logger.warning("The policy is not enforced: what its rules do not allow is only recorded")
        }
        let threads = NIOThreadPool(numberOfThreads: max(2, System.coreCount))
        threads.start()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let outcome: Result<Void, any Error>
        do {
            try await run(group: group, pool: BlockingPool(threads: threads, capacity: 256))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try? await group.shutdownGracefully()
        try? await threads.shutdownGracefully()
        // The last lines say why it stopped.
        LogWriter.standardError.flush()
        try outcome.get()
    }

    private func run(group: MultiThreadedEventLoopGroup, pool: BlockingPool) async throws {
        let assembly = AuthenticatorAssembly(
            plugins: configuration.authenticators, names: configuration.names, pool: pool, clocks: clocks,
            logger: logger)
        let problems = await assembly.problems()
        if problems.contains(where: { $0.severity == .error }) { throw ConfigurationFault(problems) }
        let tls = try ConfiguredTLS(configuration, pool: pool, clocks: clocks, logger: logger)
        let stores = try OpenStores(
            configuration, acceptsIdentityChange: acceptsIdentityChange, clocks: clocks, logger: logger)
        let made: AuthenticatorAssembly.Made
        do {
            made = try await assembly.make(revocations: stores.sessions)
            try await stores.sessions.keepAccounts(of: Set(made.lists.map(\.name)))
        } catch {
            await stores.close(logger: logger)
            throw error
        }
        if let warning = Migration.warning(configuration) {
            logger.warning("Registrations from before the gateway", metadata: ["detail": "\(warning)"])
        }
        let readiness = Readiness { [journal = stores.journal] in journal.outage?.detail }

        let (embeddedPorts, embeddedPort) = AsyncStream<Int>.makeStream()
        let (adminPorts, adminPort) = AsyncStream<Int?>.makeStream()
        // Started in this order, and stopped in the opposite one: calls in flight still need the backend.
        var services: [any Service] = []
        if configuration.backend.address == .embedded { services.append(embeddedBackend(embeddedPort)) }
        services.append(
            AdminService(address: configuration.admin, readiness: readiness, logger: logger) { adminPort.yield($0) })
        let (verdicts, throttle) = (VerdictCache(clocks: clocks), LoginThrottle(clocks: clocks))
        let sweeper = RegistrationSweeper(ledger: stores.ledger, logger: logger)
        let sends = SendMemory(clocks: clocks)
        sends.restore(stores.keyedSends)
        let revocation = UserRevocation(
            sessions: stores.sessions, verdicts: verdicts, throttle: throttle, sends: sends, journal: stores.journal,
            sweeper: sweeper, logger: logger)
        let accounts = AccountWatch(
            made.lists, sessions: stores.sessions, revocation: revocation, clocks: clocks, logger: logger)
        // What ended while nothing ran is over before the first call.
        await accounts.look()
        let reloading = ReloadService(
            made.reloadable.map { RememberedAuthenticator($0, remembered: verdicts) } + tls.reloadable,
            accounts: accounts, logger: logger)
        services.append(reloading)
        services.append(
            SessionReview(sessions: stores.sessions, chain: made.chain, revocation: revocation, logger: logger))
        let rules = configuration.rules(
            chain: made.chain, limiter: Limiter(configuration.limits, clocks: clocks), throttle: throttle,
            verdicts: verdicts, sends: sends)
        let control: ControlServer?
        do {
            control = try await openControl(
                .init(
                    throttle: throttle, limiter: { rules.limiter }, names: configuration.names, reloading: reloading,
                    explainer: CallExplainer(
                        rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
                        digester: stores.messageDigester),
                    stores: StoreOperations(
                        ledger: stores.ledger, sessions: stores.sessions, revocation: revocation, sweeper: sweeper,
                        names: configuration.names, handles: configuration.backend.handles, clocks: clocks)),
                stores, group)
        } catch {
            await stores.close(logger: logger)
            throw error
        }
        if let control { services.append(ControlService(server: control)) }
        let history = RecordedHistory(
            directory: configuration.journal.directory, sessions: stores.sessions, logger: logger)
        services.append(
            GatewayService(
                configuration: configuration, tls: tls, rules: rules, stores: stores, history: history,
                sweeper: sweeper,
                readiness: readiness, group: group, clocks: clocks, logger: logger,
                embeddedPorts: embeddedPorts, adminPorts: adminPorts, onStarted: onStarted))
        let outcome: Result<Void, any Error>
        do {
            try await ServiceGroup(
                services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger
            ).run()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await control?.stop()
        history.close()
        await stores.close(logger: logger)
        try outcome.get()
    }

    private func openControl(
        _ parts: ControlOperations.Parts, _ stores: OpenStores, _ group: MultiThreadedEventLoopGroup
    ) async throws -> ControlServer? {
        guard let path = configuration.control else { return nil }
        let operations = ControlOperations(ControlOperations.all(parts), journal: stores.journal, logger: logger)
        do {
            return try await ControlServer.open(path: path, operations: operations, group: group, logger: logger)
        } catch let fault as ControlFault {
            throw ConfigurationFault(file: path, fault.reason)
        }
    }

    private func embeddedBackend(_ port: AsyncStream<Int>.Continuation) -> EmbeddedBackend {
        let flavor: BackendFlavor =
            switch configuration.backend.profileName {
            case .classic: .classic
            case .core: .core
            case .net6: .net6
            }
        return EmbeddedBackend(
            flavor: flavor, port: configuration.backend.embeddedPort, logger: logger, onListening: { port.yield($0) })
    }
}

/// Where a started gateway can be reached.
public struct StartedGateway: Sendable, Hashable {
    /// The listeners in the order of the configuration; ports that the system chose are filled in.
    public let listeners: [ListenAddress]
    /// The admin listener.
    public let admin: ListenAddress
    /// The port of the embedded backend on 127.0.0.1, where there is one.
    public let embeddedBackendPort: Int?
}
