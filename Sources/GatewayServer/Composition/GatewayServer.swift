internal import Foundation
internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
public import GatewaySupport
public import Logging
internal import NIOCore
internal import NIOPosix
internal import NotifyBackend
internal import ServiceLifecycle

/// The complete gateway: stores, backend, listeners and admin listener, composed from a configuration.
public struct GatewayServer: Sendable {
    private let configuration: ServerConfiguration
    private let source: ConfigurationSource?
    private let logger: Logger
    private let clocks: Clocks
    private let acceptsIdentityChange: Bool
    private let keepsRestoredSessions: Bool
    private let onStarted: @Sendable (StartedGateway) async -> Void

    /// Creates a gateway of a configuration.
    ///
    /// - Parameters:
    ///   - source: The source of the configuration, which is read again on SIGHUP and on an operator's request. Without
    ///     it, only the files of users and keys are reloaded.
    ///   - acceptsIdentityChange: Whether the gateway starts although `identity` differs from the rules that produced
    ///     the names in the ledger.
    ///   - keepsRestoredSessions: Whether sessions stay valid although the ledger was restored from a backup.
    ///   - onStarted: Called once, when all listeners accept connections.
    public init(
        configuration: ServerConfiguration, from source: ConfigurationSource? = nil, logger: Logger,
        clocks: Clocks = .system,
        acceptsIdentityChange: Bool = false, keepsRestoredSessions: Bool = false,
        onStarted: @escaping @Sendable (StartedGateway) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.source = source
        self.logger = logger
        self.clocks = clocks
        self.acceptsIdentityChange = acceptsIdentityChange
        self.keepsRestoredSessions = keepsRestoredSessions
        self.onStarted = onStarted
    }

    /// Runs until SIGTERM, SIGINT, graceful shutdown of the surrounding service group, or cancellation. Calls in flight
    /// complete first. A second signal aborts them, and each is recorded with the outcome `unknown-at-stop`.
    ///
    /// The first run in a process installs the process's metrics in swift-metrics, which traps if they are installed
    /// already by something else.
    ///
    /// - Throws: `ConfigurationError` for the problems that `check` reports, and errors of stores and sockets.
    public func run() async throws {
        let shares = FileDescriptorLimit.raise(logger: logger)
        if !configuration.policy.isEnforced {
            logger.warning("Policy is not enforced; violations are only recorded")
        }
        let threads = NIOThreadPool(numberOfThreads: max(2, System.coreCount))
        threads.start()
        // Files have their own thread, so a changed users file does not wait for password hashing.
        let fileThreads = NIOThreadPool(numberOfThreads: 1)
        fileThreads.start()
        let group = try await EventLoopScheduler.makeGroup(threads: configuration.eventLoops)
        let lagMonitor = EventLoopLagMonitor(group: group, clocks: clocks)
        let outcome: Result<Void, any Error>
        do {
            try await run(
                group: group, shares: shares, lagMonitor: lagMonitor,
                pool: BlockingPool(threads: threads, capacity: 256),
                filePool: BlockingPool(threads: fileThreads, capacity: 256))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        lagMonitor.stop()
        try? await group.shutdownGracefully()
        try? await threads.shutdownGracefully()
        try? await fileThreads.shutdownGracefully()
        // The last log lines state why the gateway stopped.
        LogWriter.standardError.flush()
        try outcome.get()
    }

    private func run(
        group: MultiThreadedEventLoopGroup, shares: FileDescriptorLimit.Shares, lagMonitor: EventLoopLagMonitor,
        pool: BlockingPool,
        filePool: BlockingPool
    ) async throws {
        let environment = ProcessInfo.processInfo.environment
        let inherited = try InheritedSockets(environment: environment)
        let notifier = ServiceNotifier(environment: environment, clocks: clocks)
        let metrics = CallMetrics(clocks: clocks)
        let assembly = AuthenticatorAssembly(
            of: configuration, pool: pool, filePool: filePool, clocks: clocks, logger: logger, metrics: metrics)
        try requireFreeAddresses(inherited)
        let problems = await assembly.problems()
        if problems.contains(where: { $0.severity == .error }) { throw ConfigurationError(problems) }
        let tls = try ConfiguredTLS(configuration, pool: filePool, clocks: clocks, logger: logger)
        let stores = try GatewayStores(
            configuration, acceptsIdentityChange: acceptsIdentityChange,
            restore: keepsRestoredSessions ? .kept : .ended, clocks: clocks, logger: logger)
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
        let readiness = stores.readiness(clocks: clocks)
        let ledgerWatch = LedgerMonitor(ledger: stores.ledger, logger: logger)
        let history = RecordedHistory(
            directory: configuration.journal.directory, sessions: stores.sessions, logger: logger)
        let (parts, rules, revocation) = makeParts(stores, made, history, metrics, pool, filePool)
        // Accounts that ended while the gateway was stopped are revoked before the first call.
        await parts.accounts.compare()
        let reload = source.map {
            GatewayReload(
                from: $0, configuration: configuration, made: made, tls: tls, parts: parts, logger: logger)
        }
        let reloading = ReloadService(
            parts.remembered(made) + tls.reloadable, accounts: parts.accounts, whole: reload,
            notifier: notifier, logger: logger)

        let (embeddedPorts, embeddedPort) = AsyncStream<Int>.makeStream()
        let (adminPorts, adminPort) = AsyncStream<Int?>.makeStream()
        // Services start in this order and stop in the reverse order. Calls in flight still need the backend.
        let signals = ShutdownSignals(logger: logger)
        let serving = HotSwappable<RunningGateway?>(nil)
        var services: [any Service] = [Watchdog(notifier: notifier, lagMonitor: lagMonitor, logger: logger)]
        if configuration.backend.address == .embedded { services.append(embeddedBackend(embeddedPort)) }
        services.append(
            AdminService(
                address: configuration.admin, readiness: readiness,
                metrics: MetricsCollector(
                    parts: parts, readiness: readiness, lagMonitor: lagMonitor, running: serving, ledger: ledgerWatch,
                    certificates: zip(configuration.listeners, tls.listeners).compactMap { section, tls in
                        tls.map { (section.address.description, $0) }
                    }),
                logger: logger
            ) { adminPort.yield($0) })
        services += [
            reloading, parts.review, ledgerWatch,
            UnconfirmedRegistrationExpiry(
                ledger: stores.ledger, sweeper: parts.sweeper, clocks: clocks, logger: logger),
        ]
        let control: ControlServer?
        do {
            control = try await openControl(
                .init(
                    throttle: parts.throttle, limiter: { parts.current.limiter.value }, names: configuration.names,
                    reload: { await reloading.reloadNow() },
                    dryRun: parts.current.dryRun,
                    stores: StoreOperations(
                        ledger: stores.ledger, revocation: revocation, names: configuration.names,
                        handles: parts.current.handles, clocks: clocks)),
                stores, group)
        } catch {
            history.close()
            await stores.close(logger: logger)
            throw error
        }
        if let control { services.append(ControlService(server: control)) }
        services.append(
            GatewayService(
                configuration: configuration, tls: tls, rules: rules, parts: parts, reload: reload,
                readiness: readiness,
                serving: serving, shares: shares, notifier: notifier, forcedShutdown: signals.forcedShutdown,
                inherited: inherited,
                group: group, embeddedPorts: embeddedPorts, adminPorts: adminPorts, onStarted: onStarted))
        let outcome: Result<Void, any Error>
        do {
            try await signals.run(ServiceGroup(services: services, logger: logger))
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await control?.stop()
        history.close()
        await stores.close(logger: logger)
        try outcome.get()
    }

    /// Checks that every address is free, before anything is opened or logged.
    private func requireFreeAddresses(_ inherited: InheritedSockets) throws(ListenAddressError) {
        var sockets = inherited
        var addresses = configuration.listeners.map(\.address).filter { sockets.take($0) == nil }
        addresses.append(configuration.admin)
        if configuration.backend.address == .embedded {
            addresses.append(.tcp(host: "127.0.0.1", port: configuration.backend.embeddedPort))
        }
        var faults: [ListenAddressError] = []
        for address in addresses {
            do throws(ListenAddressError) { try address.requireFree() } catch { faults.append(error) }
        }
        if !faults.isEmpty { throw ListenAddressError(faults.map(\.description).joined(separator: "\n")) }
    }

    /// Creates the components that outlive a reload, and the first configuration's rules.
    private func makeParts(
        _ stores: GatewayStores, _ made: AuthenticatorAssembly.Made, _ history: RecordedHistory,
        _ metrics: CallMetrics, _ pool: BlockingPool, _ filePool: BlockingPool
    ) -> (GatewayState, CompiledConfiguration, UserRevocation) {
        let (passwordCache, throttle) = (PasswordCache(clocks: clocks), LoginThrottle(clocks: clocks))
        let sweeper = RegistrationSweeper(ledger: stores.ledger, logger: logger)
        let sends = IdempotencyStore(clocks: clocks)
        sends.restore(stores.keyedSends)
        let revocation = UserRevocation(
            stores: stores, passwordCache: passwordCache, throttle: throttle, sends: sends, sweeper: sweeper,
            logger: logger)
        let chain = HotSwappable(made.chain)
        let authentication = HotSwappable(configuration.authentication)
        let limiter = Limiter(configuration.limits, clocks: clocks)
        let rules = configuration.rules(
            chain: made.chain, limiter: limiter, throttle: throttle, passwordCache: passwordCache, sends: sends)
        let dryRun = DryRun(
            rules: rules, ledger: stores.ledger, sessions: stores.sessions, clocks: clocks,
            digester: stores.messageDigester)
        let parts = GatewayState(
            stores: stores, passwordCache: passwordCache, throttle: throttle, sends: sends, history: history,
            sweeper: sweeper,
            accounts: AccountMonitor(
                made.lists, sessions: stores.sessions, revocation: revocation, clocks: clocks, logger: logger),
            review: AccountRecheck(
                sessions: stores.sessions, chain: chain, revocation: revocation, authentication: authentication,
                logger: logger),
            current: GatewayState.CurrentConfiguration(
                chain: chain, made: HotSwappable(made), handles: HotSwappable(configuration.backend.handles),
                dryRun: HotSwappable(dryRun),
                limiter: HotSwappable(limiter), drain: HotSwappable(configuration.drain), authentication: authentication
            ),
            metrics: metrics, pool: pool, filePool: filePool, clocks: clocks, logger: logger)
        return (parts, rules, revocation)
    }

    private func openControl(
        _ parts: ControlOperations.Parts, _ stores: GatewayStores, _ group: MultiThreadedEventLoopGroup
    ) async throws -> ControlServer? {
        guard let path = configuration.control else { return nil }
        let operations = ControlOperations(ControlOperations.all(parts), journal: stores.journal, logger: logger)
        do {
            return try await ControlServer.open(path: path, operations: operations, group: group, logger: logger)
        } catch let fault as ControlError {
            throw ConfigurationError(file: path, fault.reason)
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

/// The addresses of a started gateway.
public struct StartedGateway: Sendable, Hashable {
    /// The listeners in the order of the configuration, with the ports that the system assigned.
    public let listeners: [ListenAddress]
    /// The admin listener.
    public let admin: ListenAddress
    /// The port of the embedded backend on 127.0.0.1; nil without an embedded backend.
    public let embeddedBackendPort: Int?
}
