internal import Gateway
public import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
public import GatewaySupport
public import Logging
internal import NIOCore
internal import ServiceLifecycle

/// The complete gateway, composed from a configuration. Each subsystem is made by one factory, which returns its
/// services.
///
/// Start, in `run(on:)`. A step that fails ends the start and undoes the steps before it:
///
/// 1. Checks: the addresses are free, the files of authenticators and certificates are usable.
/// 2. Stores: ledger, sessions, journal, history.
/// 3. Authenticators, state about callers, accounts. Accounts that ended while the gateway was stopped are revoked.
/// 4. The control socket and the console listen.
/// 5. The services of `services(…)`, in its order. The last one opens the listeners, and then the gateway is ready.
///
/// Stop, on the first signal: each service in the reverse order, so the listeners drain first and the backend outlives the
/// calls in flight. Then console, control socket, history, stores, event loops, thread pools, and the log.
///
/// Reload: `GatewayReload` checks a new configuration, `RunningGateway` exchanges the rules of new calls, and then each of
/// `Subsystems.participants` adopts the configuration in that order.
public struct GatewayServer: Sendable {
    private let configuration: ServerConfiguration
    private let source: ConfigurationSource?
    private let logger: Logger
    private let clocks: Clocks
    private let permissions: StartPermissions
    private let onStarted: @Sendable (StartedGateway) async -> Void

    /// Creates a gateway of a configuration.
    ///
    /// - Parameters:
    ///   - source: The source of the configuration, which is read again on SIGHUP and on an operator's request. Without
    ///     it, only the files of users and keys are reloaded.
    ///   - permissions: What the operator permits for this start.
    ///   - onStarted: Called once, when all listeners accept connections.
    public init(
        configuration: ServerConfiguration, from source: ConfigurationSource? = nil, logger: Logger,
        clocks: Clocks = .system, permitting permissions: StartPermissions = [],
        onStarted: @escaping @Sendable (StartedGateway) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.source = source
        self.logger = logger
        self.clocks = clocks
        self.permissions = permissions
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
        let threads = try await ServerThreads.start(eventLoops: configuration.eventLoops, clocks: clocks)
        let outcome = await Self.outcome {
            try await run(
                on: ServerContext(configuration, threads: threads, shares: shares, clocks: clocks, logger: logger))
        }
        await threads.stop()
        // The last log lines state why the gateway stopped.
        LogWriter.standardError.flush()
        try outcome.get()
    }

    private func run(on context: ServerContext) async throws {
        let progress = context.reportStart()
        defer { progress.cancel() }
        // Files that a restore has not put in place yet look missing to the checks.
        try RestoreMark.rejectInterrupted(ofLedger: configuration.ledger.file)
        try context.configuration.requireFreeAddresses(context.inherited)
        try await AuthenticatorsSubsystem.check(context)
        let tls = try ConfiguredTLS(configuration, pool: context.threads.filePool, clocks: clocks, logger: logger)
        let stores = try StoresSubsystem(context, permissions)
        let outcome = await Self.outcome {
            let subsystems = try await Subsystems(context, stores, tls: tls.backends)
            if let warning = try await Migration.warning(configuration, stores.stores.ledger) {
                logger.warning("Registrations from before the gateway", metadata: ["detail": "\(warning)"])
            }
            await subsystems.accounts.revokeEnded()
            let reload = ReloadSubsystem(context, source: source, subsystems, tls: tls)
            let operations = OperationsSubsystem(context, subsystems, reload)
            let control = try await ControlSubsystem.open(context, operations)
            let outcome = await Self.outcome {
                let console = try await ConsoleSubsystem.open(context, subsystems, operations, tls: tls)
                let services = services(
                    context, subsystems, reload, .init(control: control, console: console), tls)
                let outcome = await Self.outcome {
                    try await context.signals.run(
                        ServiceGroup(configuration: .init(named: services, logger: logger)))
                }
                await console.close()
                try outcome.get()
            }
            await control.close()
            try outcome.get()
        }
        await stores.close()
        try outcome.get()
    }

    /// Makes the remaining subsystems, and returns all services in the order in which they start. They stop in the
    /// reverse order.
    private func services(
        _ context: ServerContext, _ subsystems: Subsystems, _ reload: ReloadSubsystem, _ operators: OperatorListeners,
        _ tls: ConfiguredTLS
    ) -> [any Service] {
        let watchdog = Watchdog(
            notifier: context.notifier, lagMonitor: context.threads.lagMonitor, logger: context.logger)
        let backend = BackendSubsystem(context)
        let admin = AdminSubsystem(context, subsystems, tls: tls)
        let listeners = ListenersService(
            context: context, subsystems: subsystems, tls: tls, backend: backend,
            onListening: { running in
                let port = try await admin.port()
                await reload.attach(running)
                admin.running.value = running
                operators.console.running.value = running
                return (
                    context.configuration.admin.bound(to: port),
                    operators.console.address(context.configuration.console)
                )
            },
            onStarted: { [onStarted] started in
                reload.service.gatewayStarted()
                await onStarted(started)
            })
        let hubKey = HubProbe(configuration: configuration, tls: tls.backends, clocks: clocks).map {
            HubKeyCheck($0, logger: logger)
        }
        return [watchdog] + backend.services + (hubKey.map { [$0] } ?? []) + admin.services + reload.services
            + subsystems.stores.services + subsystems.calls.services + subsystems.sinks.services
            + subsystems.archive.services + subsystems.tracing.services
            + subsystems.accounts.services + operators.control.services + operators.console.services + [listeners]
    }

    /// The listeners for operators that are open before the services start.
    private struct OperatorListeners {
        let control: ControlSubsystem
        let console: ConsoleSubsystem
    }

    /// Runs the body and returns how it ended, so that the caller can close what the body used.
    private static func outcome(of body: () async throws -> Void) async -> Result<Void, any Error> {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
