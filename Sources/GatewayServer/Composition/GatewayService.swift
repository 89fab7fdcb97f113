internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The service that runs the request pipeline, from the listeners to the backend connections.
struct GatewayService: Service {
    let configuration: ServerConfiguration
    let tls: ConfiguredTLS
    let rules: CompiledConfiguration
    let parts: GatewayState
    /// The reload that exchanges the gateway; nil if the configuration has no source.
    let reload: GatewayReload?
    let readiness: Readiness
    /// Set to the running gateway once it has started.
    let serving: HotSwappable<RunningGateway?>
    let shares: FileDescriptorLimit.Shares
    let notifier: ServiceNotifier
    /// Yields a value when the shutdown shall not wait any longer.
    let forcedShutdown: AsyncStream<Void>
    let inherited: InheritedSockets
    let group: MultiThreadedEventLoopGroup
    let embeddedPorts: AsyncStream<Int>
    let adminPorts: AsyncStream<Int?>
    let onStarted: @Sendable (StartedGateway) async -> Void

    /// The time that aborted calls have to write their outcomes.
    private static let completionTime = TimeAmount.seconds(5)

    func run() async throws {
        var embeddedPort: Int?
        if configuration.backend.address == .embedded {
            embeddedPort = await embeddedPorts.first { _ in true }
            // The stream ends without a port if the run is cancelled before the backend listens.
            guard embeddedPort != nil else { return }
        }
        let running = try await RunningGateway(
            configuration, tls: tls.backend, rules: rules, parts: parts, embeddedPort: embeddedPort,
            connections: shares.backend,
            group: group)
        let sweeping = running.start { [sweeper = parts.sweeper] in
            // These ids have a lane of their own, so no client's call shares one.
            let ids = Mutex(CallIDGenerator())
            await sweeper.run { id in await running.current.value.sweep(id, as: ids.withLock { $0.next() }) }
        }
        let housekeeping = Task { [history = parts.history, tls, configuration, parts] in
            var seconds = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                running.current.value.flushRejections()
                seconds += 1
                if seconds % 60 == 0 { history.refresh() }
                if seconds % 86_400 == 0 {
                    tls.logExpiring(configuration, now: parts.clocks.wall(), logger: parts.logger)
                }
            }
            running.current.value.flushRejections(all: true)
        }
        var listeners: [Listener] = []
        do {
            // The connection limit applies to all listeners together.
            var bounds = configuration.connections
            bounds.total = min(bounds.total, shares.clients)
            let connectionLimit = ConnectionLimit(bounds)
            let calls = InFlightLimit(maximum: configuration.callsInFlight)
            readiness.watch(calls)
            var sockets = inherited
            for (section, tls) in zip(configuration.listeners, tls.listeners) {
                let socket = sockets.take(section.address)
                listeners.append(
                    try await start(
                        section, tls, serving: running.current.value, connectionLimit: connectionLimit, calls: calls,
                        inherited: socket))
            }
            try sockets.requireAllTaken()
            guard let adminPort = await adminPorts.first(where: { _ in true }) else { throw CancellationError() }
            await running.attach(listeners, countedBy: connectionLimit)
            await reload?.attach(running)
            serving.value = running
            readiness.enter(.serving)
            let started = StartedGateway(
                listeners: zip(configuration.listeners, listeners).map { $0.address.bound(to: $1.port) },
                admin: configuration.admin.bound(to: adminPort), embeddedBackendPort: embeddedPort)
            parts.logger.notice(
                "Gateway started",
                metadata: ["listeners": "\(started.listeners)", "admin": "\(started.admin)"])
            notifier.ready()
            MappedExecutables.release()
            await onStarted(started)
            try? await gracefulShutdown()
        } catch {
            // No call has been served yet, so no grace period is needed.
            await closeAll(listeners)
            await stop([], running, sweeping, isGraceful: false)
            await finishHousekeeping(housekeeping)
            throw error
        }
        await stop(listeners, running, sweeping)
        await finishHousekeeping(housekeeping)
    }

    /// Writes the last coalesced rejections. Called when no more calls arrive.
    private func finishHousekeeping(_ housekeeping: Task<Void, Never>) async {
        housekeeping.cancel()
        await housekeeping.value
    }

    private func stop(
        _ listeners: [Listener], _ running: RunningGateway, _ sweeping: Task<Void, Never>, isGraceful: Bool = true
    ) async {
        // A deletion in progress completes, or is aborted with the connections.
        sweeping.cancel()
        readiness.enter(.draining)
        notifier.stopping()
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { if isGraceful { await drain(listeners) } }
            tasks.addTask {
                for await _ in forcedShutdown {
                    await closeAll(listeners)
                    break
                }
            }
            // Without a forced shutdown, the drain completes first.
            _ = await tasks.next()
            tasks.cancelAll()
        }
        await running.shutdownUpstream()
        await sweeping.value
        // Aborted calls have an outcome now. The stores stay open until they are recorded.
        let end = NIODeadline.now() + Self.completionTime
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.finishCalls(deadline: end) } }
        }
    }

    /// Keeps serving for the grace period, so load balancers notice and clients close their persistent connections.
    /// Then waits for the calls in flight, up to the drain limit.
    private func drain(_ listeners: [Listener]) async {
        for listener in listeners { await listener.announceEnd() }
        try? await Task.sleep(for: parts.current.drain.value.grace)
        let deadline = NIODeadline.now() + TimeAmount(parts.current.drain.value.limit)
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.drain(deadline: deadline) } }
        }
    }

    private func closeAll(_ listeners: [Listener]) async {
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.close() } }
        }
    }

    private func start(
        _ section: ServerConfiguration.ListenerSection, _ tls: ServerTLS?, serving: Gateway,
        connectionLimit: ConnectionLimit,
        calls: InFlightLimit, inherited: CInt?
    ) async throws -> Listener {
        var listener: ListenerConfiguration =
            switch section.address {
            case .tcp(let host, let port): ListenerConfiguration(address: .tcp(host: host, port: port))
            case .unix(let path): ListenerConfiguration(address: .unix(path: path))
            }
        listener.tls = tls
        listener.calls = calls
        listener.supportsHTTP2 = section.supportsHTTP2
        listener.trustedProxies = section.trust
        listener.plaintextCredentials = section.allowsPlaintextCredentials
        do {
            return try await Listener.start(
                configuration: listener, serving: serving, group: group, clocks: parts.clocks,
                connectionLimit: connectionLimit,
                inherited: inherited)
        } catch {
            throw ListenAddressError(error, at: section.address)
        }
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
