internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// The service that runs the request pipeline, from the listeners to the backend connections.
struct ListenersService: Service {
    let context: ServerContext
    let subsystems: Subsystems
    let tls: ConfiguredTLS
    let backend: BackendSubsystem
    /// Called when the listeners are open and before the gateway is ready. Returns the addresses of the admin listener and
    /// of the console.
    let onListening: @Sendable (RunningGateway) async throws -> (admin: ListenAddress, console: ListenAddress?)
    /// Called once, when the gateway is ready.
    let onStarted: @Sendable (StartedGateway) async -> Void

    func run() async throws {
        let embeddedPorts: [Int?]
        do {
            embeddedPorts = try await backend.ports()
        } catch {
            // The run was cancelled before the backend listened.
            return
        }
        let running = try await RunningGateway(
            context, subsystems, tls: tls.backends, embeddedPorts: embeddedPorts)
        let sweeping = running.start { [sweeper = subsystems.accounts.sweeper] in
            // These ids have a lane of their own, so no client's call shares one.
            let ids = Mutex(CallIDGenerator())
            await sweeper.run { id in await running.current.value.sweep(id, as: ids.withLock { $0.next() }) }
        }
        let housekeeping = Task { await keepHouse(running) }
        var listeners: [Listener] = []
        do {
            try await open(&listeners, of: running)
            let operators = try await onListening(running)
            await announce(listeners, operators, embeddedPorts: embeddedPorts)
            try? await gracefulShutdown()
        } catch {
            // No call has been served yet, so no grace period is needed.
            await closeAll(listeners)
            await stop([], running, sweeping, isGraceful: false)
            await finish(housekeeping)
            throw error
        }
        await stop(listeners, running, sweeping)
        await finish(housekeeping)
    }

    /// Opens the listeners. If it throws, `listeners` contains those that are open.
    private func open(_ listeners: inout [Listener], of running: RunningGateway) async throws {
        let configuration = context.configuration
        // The connection limit applies to all listeners together.
        var bounds = configuration.connections
        bounds.total = min(bounds.total, context.shares.clients)
        let connectionLimit = ConnectionLimit(bounds)
        let calls = InFlightLimit(maximum: configuration.callsInFlight)
        subsystems.stores.readiness.watch(calls)
        var sockets = context.inherited
        for (index, section) in configuration.listeners.enumerated() {
            var listener = section.listener(tls.listeners[index])
            listener.forwardedCertificates = tls.forwardedCertificates[index]
            listener.calls = calls
            do {
                listeners.append(
                    try await Listener.start(
                        configuration: listener, serving: running.current.value, group: context.threads.group,
                        clocks: context.clocks, connectionLimit: connectionLimit,
                        inherited: sockets.remove(section.address)))
            } catch {
                throw ListenAddressError(error, at: section.address)
            }
        }
        try sockets.requireAllUsed()
        await running.attach(listeners, countedBy: connectionLimit)
    }

    /// Declares the gateway ready.
    private func announce(
        _ listeners: [Listener], _ operators: (admin: ListenAddress, console: ListenAddress?), embeddedPorts: [Int?]
    ) async {
        subsystems.stores.readiness.enter(.serving)
        let started = StartedGateway(
            listeners: zip(context.configuration.listeners, listeners).map { $0.address.bound(to: $1.port) },
            admin: operators.admin, console: operators.console, embeddedBackendPorts: embeddedPorts)
        var metadata: Logger.Metadata = ["listeners": "\(started.listeners)", "admin": "\(started.admin)"]
        if let console = started.console { metadata["console"] = "\(console)" }
        context.logger.notice("Gateway started", metadata: metadata)
        context.notifier.ready()
        MappedExecutables.release()
        await onStarted(started)
    }

    /// Writes coalesced rejections and exceeded limits every second, updates the audit index, and does the work of each day, until it is cancelled.
    private func keepHouse(_ running: RunningGateway) async {
        var seconds = 0
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            running.current.value.flushRejections()
            await running.logExceededLimits()
            subsystems.stores.history.refresh()
            seconds += 1
            if seconds % 86_400 == 0 {
                tls.logExpiring(context.configuration, now: context.clocks.wall(), logger: context.logger)
            }
        }
        running.current.value.flushRejections(all: true)
    }

    /// Writes the last coalesced rejections. Called when no more calls arrive.
    private func finish(_ housekeeping: Task<Void, Never>) async {
        housekeeping.cancel()
        await housekeeping.value
    }
}

extension ServerConfiguration.ListenerSection {
    /// Returns the settings of the listener.
    fileprivate func listener(_ tls: ServerTLS?) -> ListenerConfiguration {
        var listener: ListenerConfiguration =
            switch address {
            case .tcp(let host, let port): ListenerConfiguration(address: .tcp(host: host, port: port))
            case .unix(let path): ListenerConfiguration(address: .unix(path: path))
            }
        listener.tls = tls
        listener.supportsHTTP2 = supportsHTTP2
        listener.trustedProxies = trust
        listener.allowsPlaintextCredentials = allowsPlaintextCredentials
        return listener
    }
}

extension ListenAddress {
    /// Returns the address with the port that it was bound to.
    func bound(to port: Int?) -> ListenAddress {
        switch self {
        case .tcp(let host, let configured): .tcp(host: host, port: port ?? configured)
        case .unix: self
        }
    }
}
