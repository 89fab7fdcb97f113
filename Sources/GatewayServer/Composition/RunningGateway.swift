internal import Gateway
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewaySupport
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The gateway that the listeners use and its connections to the backend. A reload exchanges both together while the
/// sockets stay open.
actor RunningGateway {
    /// The gateway for new calls, also used for calls that the gateway makes itself.
    nonisolated let current: HotSwappable<Gateway>

    private let parts: GatewayState
    private let scheduler: EventLoopScheduler
    private let group: MultiThreadedEventLoopGroup
    private let embeddedPort: Int?
    private let connections: Int
    private let connects = ConnectCounters()
    private var upstream: Upstream
    private var upstreamConfiguration: UpstreamConfiguration
    /// The previous connection pools that earlier calls may still use. Each closes by itself when its last call has
    /// completed.
    private var former: [Previous] = []
    private var listeners: [Listener] = []
    private var caps: ConnectionLimit?

    private struct Previous {
        weak var upstream: Upstream?
    }

    /// Starts the connections to the backend and creates the gateway.
    ///
    /// - Parameter connections: The maximum number of connections to the backend.
    init(
        _ configuration: ServerConfiguration, tls: ClientTLS?, rules: CompiledConfiguration, parts: GatewayState,
        embeddedPort: Int?, connections: Int, group: MultiThreadedEventLoopGroup
    ) async throws {
        self.parts = parts
        self.group = group
        self.embeddedPort = embeddedPort
        self.connections = connections
        scheduler = try await EventLoopScheduler.start(group: group)
        upstreamConfiguration = configuration.upstream(tls, embeddedPort: embeddedPort, connections: connections)
        upstream = try await Upstream.start(
            configuration: upstreamConfiguration, group: group, connects: connects)
        current = HotSwappable(Gateway(rules: rules, dependencies: Self.dependencies(parts, upstream, scheduler)))
    }

    /// Sets the listeners that `exchange` updates, and the counter of their connections.
    func attach(_ listeners: [Listener], countedBy caps: ConnectionLimit) {
        self.listeners = listeners
        self.caps = caps
    }

    /// The memory for incomplete requests; nil before there are listeners.
    var requestMemory: RequestMemory? { caps?.requestMemory }

    /// Returns the statistics of each listener with its address.
    func listenerReadings() async -> [(listener: String, reading: ListenerStatistics)] {
        var readings: [(String, ListenerStatistics)] = []
        for listener in listeners {
            readings.append((listener.localAddress.metricLabel, await listener.reading()))
        }
        return readings
    }

    /// The numbers of connections that were rejected, and that were closed to make room for others.
    var connectionsBeyondCaps: (refused: UInt64, evicted: UInt64) {
        (caps?.refused.value ?? 0, caps?.evicted.value ?? 0)
    }

    /// Returns the statistics of the connections to the backend.
    func upstreamReading() async -> UpstreamStatistics { await upstream.reading() }

    /// Starts a task on one of the event loops.
    @discardableResult
    nonisolated func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> { scheduler.start(work) }

    /// Replaces the gateway by that of another configuration. If it throws, nothing has changed.
    func exchange(_ new: ServerConfiguration, tls: ClientTLS?, _ chain: AuthenticatorChain) async throws {
        let configuration = new.upstream(tls, embeddedPort: embeddedPort, connections: connections)
        var upstream = upstream
        if configuration != upstreamConfiguration {
            upstream = try await Upstream.start(configuration: configuration, group: group, connects: connects)
        }
        let limiter = parts.limiter(of: new.limits)
        let rules = parts.rules(of: new, chain: chain, limiter: limiter)
        let gateway = Gateway(
            rules: rules, dependencies: Self.dependencies(parts, upstream, scheduler), replacing: current.value)
        // No later step can fail.
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.serve(by: gateway) } }
        }
        current.value = gateway
        parts.current.limiter.value = limiter
        parts.current.dryRun.value = parts.dryRun(of: rules)
        if upstream !== self.upstream { former.append(Previous(upstream: self.upstream)) }
        former.removeAll { $0.upstream == nil }
        (self.upstream, upstreamConfiguration) = (upstream, configuration)
    }

    /// Closes all connections to the backend. Requests in progress on them fail as interrupted.
    func shutdownUpstream() async {
        await upstream.shutdown()
        for former in former { await former.upstream?.shutdown() }
    }

    private static func dependencies(
        _ parts: GatewayState, _ upstream: Upstream, _ scheduler: EventLoopScheduler
    ) -> GatewayDependencies {
        GatewayDependencies(
            ledger: parts.stores.ledger, sessions: parts.stores.sessions, journal: parts.stores.journal,
            history: parts.history, backend: upstream, clocks: parts.clocks, scheduler: scheduler,
            digester: parts.stores.messageDigester, logger: parts.logger, metrics: parts.metrics)
    }
}

extension ServerConfiguration {
    /// Returns the settings of the connections to the backend.
    ///
    /// - Parameters:
    ///   - tls: The verification of the backend's certificate; nil without TLS.
    ///   - embeddedPort: The port of the embedded backend, if that is configured.
    ///   - connections: The maximum number of connections.
    func upstream(_ tls: ClientTLS?, embeddedPort: Int?, connections: Int) -> UpstreamConfiguration {
        let address: UpstreamAddress =
            switch backend.address {
            case .remote(let address): address
            case .embedded: .tcp(host: "127.0.0.1", port: embeddedPort ?? 0)
            }
        var upstream = UpstreamConfiguration(address: address)
        upstream.tls = tls
        upstream.connections = min(backend.connections, connections)
        upstream.waiting = backend.waiting
        upstream.others = backend.otherAddresses
        upstream.host = backend.address.hostField
        upstream.check = backend.check.map { .init(path: $0.path, period: TimeAmount($0.period)) }
        upstream.age = TimeAmount(backend.connectionAge)
        upstream.idle = TimeAmount(backend.profile.backend.idleTime)
        // If the backend closes idle connections sooner than usual, a send must not use one that is about to close.
        upstream.freshness = min(upstream.freshness, upstream.idle)
        return upstream
    }
}

extension SocketAddress {
    /// Returns the address as configurations write it.
    fileprivate var metricLabel: String {
        if let path = pathname { return "unix:\(path)" }
        let host = ipAddress ?? ""
        return host.contains(":") ? "[\(host)]:\(port ?? 0)" : "\(host):\(port ?? 0)"
    }
}
