internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The gateway that the listeners serve by, and its way to the backend: exchanged as one, while the sockets stay open.
actor RunningGateway {
    /// The gateway of calls that begin now; for what calls the gateway itself.
    nonisolated let current: HotSwappable<Gateway>

    private let parts: GatewayState
    private let scheduler: EventLoopScheduler
    private let group: MultiThreadedEventLoopGroup
    private let embeddedPort: Int?
    private let connections: Int
    private let connects = ConnectCounters()
    private var upstream: Upstream
    private var upstreamConfiguration: UpstreamConfiguration
    /// Those that earlier calls may still go by. Each closes by itself when the last of these has ended.
    private var former: [Previous] = []
    private var listeners: [Listener] = []
    private var caps: ConnectionLimit?

    private struct Previous {
        weak var upstream: Upstream?
    }

    /// Makes the gateway of the configuration.
    ///
    /// - Parameter connections: how many there may be to the backend.
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
        current = HotSwappable(Gateway(rules: rules, ports: Self.ports(parts, upstream, scheduler)))
    }

    /// Has these listeners serve by whatever is the gateway.
    func attach(_ listeners: [Listener], countedBy caps: ConnectionLimit) {
        self.listeners = listeners
        self.caps = caps
    }

    /// How the memory for incomplete requests stands; nil before there are listeners.
    var requestMemory: RequestMemory? { caps?.requestMemory }

    /// How the listeners stand, each by its address.
    func listenerReadings() async -> [(listener: String, reading: ListenerStatistics)] {
        var readings: [(String, ListenerStatistics)] = []
        for listener in listeners {
            readings.append((listener.localAddress.metricLabel, await listener.reading()))
        }
        return readings
    }

    /// How many connections were refused, and how many were closed to make room for others.
    var connectionsBeyondCaps: (refused: UInt64, evicted: UInt64) {
        (caps?.refused.value ?? 0, caps?.evicted.value ?? 0)
    }

    /// How the connections to the backend stand.
    func upstreamReading() async -> UpstreamStatistics { await upstream.reading() }

    /// Starts work on one of the loops.
    @discardableResult
    nonisolated func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> { scheduler.start(work) }

    /// Puts the gateway of another configuration in the place of this one. Where it throws nothing has changed.
    func exchange(_ new: ServerConfiguration, tls: ClientTLS?, _ chain: AuthenticatorChain) async throws {
        let configuration = new.upstream(tls, embeddedPort: embeddedPort, connections: connections)
        var upstream = upstream
        if configuration != upstreamConfiguration {
            upstream = try await Upstream.start(configuration: configuration, group: group, connects: connects)
        }
        let limiter = parts.limiter(of: new.limits)
        let rules = parts.rules(of: new, chain: chain, limiter: limiter)
        let gateway = Gateway(
            rules: rules, ports: Self.ports(parts, upstream, scheduler), succeeding: current.value)
        // From here on nothing can fail.
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

    /// Closes all connections to the backend; what is under way on them ends as cut off.
    func shutdownUpstream() async {
        await upstream.shutdown()
        for former in former { await former.upstream?.shutdown() }
    }

    private static func ports(
        _ parts: GatewayState, _ upstream: Upstream, _ scheduler: EventLoopScheduler
    ) -> GatewayDependencies {
        GatewayDependencies(
            ledger: parts.stores.ledger, sessions: parts.stores.sessions, journal: parts.stores.journal,
            history: parts.history, backend: upstream, clocks: parts.clocks, scheduler: scheduler,
            digester: parts.stores.messageDigester, logger: parts.logger, metrics: parts.metrics)
    }
}

extension ServerConfiguration {
    /// How the backend of the configuration is reached.
    ///
    /// - Parameters:
    ///   - tls: how it is verified.
    ///   - embeddedPort: that of the embedded backend, where it is that.
    ///   - connections: how many there may be.
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
        // Where a backend gives up connections sooner, a send must not meet one that it is giving up.
        upstream.freshness = min(upstream.freshness, upstream.idle)
        return upstream
    }
}

extension SocketAddress {
    /// An address as configurations write it.
    fileprivate var metricLabel: String {
        if let path = pathname { return "unix:\(path)" }
        let host = ipAddress ?? ""
        return host.contains(":") ? "[\(host)]:\(port ?? 0)" : "\(host):\(port ?? 0)"
    }
}
