internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayStore
internal import Logging
internal import NIOCore
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The way of a call from the listeners to the backend, as a service.
struct GatewayService: Service {
    let configuration: ServerConfiguration
    let tls: ConfiguredTLS
    let rules: GatewayRules
    let stores: OpenStores
    let history: RecordedHistory
    let sweeper: RegistrationSweeper
    let readiness: Readiness
    let group: MultiThreadedEventLoopGroup
    let clocks: Clocks
    let logger: Logger
    let embeddedPorts: AsyncStream<Int>
    let adminPorts: AsyncStream<Int?>
    let onStarted: @Sendable (StartedGateway) async -> Void

    /// How long calls in flight may take once the gateway is stopping: what the backend may take, and at least 70 s.
    private var drainTime: TimeAmount {
        max(.seconds(70), .seconds(configuration.backend.timeout.components.seconds + 5))
    }
    /// How long the ends of calls that were cut may take to be written down.
    private static let settlingTime = TimeAmount.seconds(5)

    func run() async throws {
        var embeddedPort: Int?
        if configuration.backend.address == .embedded {
            embeddedPort = await embeddedPorts.first { _ in true }
            // The stream ends without a port where the run is cancelled before the backend listens.
            guard embeddedPort != nil else { return }
        }
        let upstream = try await makeUpstream(embeddedPort: embeddedPort)
        let loops = try await EventLoops.start(group: group)
        let gateway = makeGateway(upstream, loops)
        let sweeping = loops.start { [sweeper] in
            // Of a lane of its own: no call has one of these ids.
            let ids = Mutex(CallIDs())
            await sweeper.run { id in await gateway.sweep(id, as: ids.withLock { $0.next() }) }
        }
        let merging = Task { [history] in
            var seconds = 0
            while (try? await Task.sleep(for: .seconds(1))) != nil {
                gateway.settleRefusals()
                seconds += 1
                if seconds % 60 == 0 { history.refresh() }
            }
            gateway.settleRefusals(all: true)
        }
        var listeners: [Listener] = []
        do {
            // The bound on connections is the gateway's, however many listeners there are.
            let caps = ConnectionCaps(ListenerConfiguration.Connections())
            let calls = CallCaps(most: configuration.callsInFlight)
            for (section, tls) in zip(configuration.listeners, tls.listeners) {
                listeners.append(try await start(section, tls, serving: gateway, caps: caps, calls: calls))
            }
            guard let adminPort = await adminPorts.first(where: { _ in true }) else { throw CancellationError() }
            readiness.enter(.serving)
            let started = StartedGateway(
                listeners: zip(configuration.listeners, listeners).map { $0.address.bound(to: $1.port) },
                admin: configuration.admin.bound(to: adminPort), embeddedBackendPort: embeddedPort)
            logger.notice(
                "The gateway serves",
                metadata: ["listeners": "\(started.listeners)", "admin": "\(started.admin)"])
            await onStarted(started)
            try? await gracefulShutdown()
        } catch {
            await stop(listeners, upstream, sweeping)
            await finish(merging)
            throw error
        }
        await stop(listeners, upstream, sweeping)
        await finish(merging)
    }

    /// No call comes any more, so what is written now is the last.
    private func finish(_ merging: Task<Void, Never>) async {
        merging.cancel()
        await merging.value
    }

    private func stop(_ listeners: [Listener], _ upstream: Upstream, _ sweeping: Task<Void, Never>) async {
        // What it has begun is finished, or cut with the connections.
        sweeping.cancel()
        readiness.enter(.draining)
        let deadline = NIODeadline.now() + drainTime
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.drain(deadline: deadline) } }
        }
        await upstream.shutdown()
        await sweeping.value
        // What was cut has its outcome now, and the stores are there for it until this returns.
        let end = NIODeadline.now() + Self.settlingTime
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.finishCalls(deadline: end) } }
        }
    }

    private func start(
        _ section: ServerConfiguration.ListenerSection, _ tls: ServerTLS?, serving: Gateway, caps: ConnectionCaps,
        calls: CallCaps
    ) async throws -> Listener {
        var listener: ListenerConfiguration =
            switch section.address {
            case .tcp(let host, let port): ListenerConfiguration(address: .tcp(host: host, port: port))
            case .unix(let path): ListenerConfiguration(address: .unix(path: path))
            }
        listener.tls = tls
        listener.calls = calls
        listener.plaintextCredentials = section.allowsPlaintextCredentials
        return try await Listener.start(
            configuration: listener, serving: serving, group: group, clocks: clocks, caps: caps)
    }

    private func makeUpstream(embeddedPort: Int?) async throws -> Upstream {
        let address: UpstreamAddress =
            switch configuration.backend.address {
            case .remote(let address): address
            case .embedded: .tcp(host: "127.0.0.1", port: embeddedPort ?? 0)
            }
        var upstream = UpstreamConfiguration(address: address)
        upstream.tls = tls.backend
        upstream.connections = configuration.backend.connections
        upstream.waiting = configuration.backend.waiting
        upstream.idle = TimeAmount(configuration.backend.profile.backend.idleTime)
        // Where a backend gives up connections sooner, a send must not meet one that it is giving up.
        upstream.freshness = min(upstream.freshness, upstream.idle)
        return try await Upstream.start(configuration: upstream, group: group)
    }

    private func makeGateway(_ upstream: Upstream, _ loops: EventLoops) -> Gateway {
        Gateway(
            rules: rules,
            ports: GatewayPorts(
                ledger: stores.ledger, sessions: stores.sessions, journal: stores.journal, history: history,
                backend: upstream, clocks: clocks, loops: loops, digester: stores.messageDigester, logger: logger))
    }
}

extension ListenAddress {
    /// The address with the port that it was bound to.
    func bound(to port: Int?) -> ListenAddress {
        switch self {
        case .tcp(let host, let configured): .tcp(host: host, port: port ?? configured)
        case .unix: self
        }
    }
}
