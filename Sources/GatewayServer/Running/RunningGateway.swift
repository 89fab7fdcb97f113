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

    private let context: ServerContext
    private let stores: StoresSubsystem
    private let calls: CallsSubsystem
    private let scheduler: EventLoopScheduler
    private let embeddedPort: Int?
    private let connects = ConnectCounters()
    private var upstream: Upstream
    private var upstreamConfiguration: UpstreamConfiguration
    /// The previous connection pools that earlier calls may still use. Each closes by itself when its last call has
    /// completed.
    private var former: [Previous] = []
    private var listeners: [Listener] = []
    private var connectionLimit: ConnectionLimit?

    private struct Previous {
        weak var upstream: Upstream?
    }

    /// Starts the connections to the backend and creates the gateway of the first configuration.
    ///
    /// - Parameters:
    ///   - tls: The verification of the backend's certificate; nil without TLS.
    ///   - embeddedPort: The port of the embedded backend; nil for another backend.
    init(
        _ context: ServerContext, _ stores: StoresSubsystem, _ calls: CallsSubsystem, tls: ClientTLS?,
        embeddedPort: Int?
    ) async throws {
        self.context = context
        self.stores = stores
        self.calls = calls
        self.embeddedPort = embeddedPort
        scheduler = try await EventLoopScheduler.start(group: context.threads.group)
        upstreamConfiguration = context.configuration.upstream(
            tls, embeddedPort: embeddedPort, connections: context.shares.backend)
        upstream = try await Upstream.start(
            configuration: upstreamConfiguration, group: context.threads.group, connectCounters: connects)
        current = HotSwappable(
            Gateway(rules: calls.firstRules, dependencies: Self.dependencies(context, stores, upstream, scheduler)))
    }

    /// Sets the listeners that `exchange` updates, and the counter of their connections.
    func attach(_ listeners: [Listener], countedBy connectionLimit: ConnectionLimit) {
        self.listeners = listeners
        self.connectionLimit = connectionLimit
    }

    /// The memory for incomplete requests; nil before there are listeners.
    var requestMemory: RequestMemory? { connectionLimit?.requestMemory }

    /// Returns the statistics of each listener with its address.
    func listenerReadings() async -> [(listener: String, reading: ListenerStatistics)] {
        var readings: [(String, ListenerStatistics)] = []
        for listener in listeners {
            readings.append((listener.localAddress.metricLabel, await listener.statistics()))
        }
        return readings
    }

    /// The numbers of connections that were rejected, and that were closed to make room for others.
    var connectionsOverLimit: (refused: UInt64, evicted: UInt64) {
        (connectionLimit?.refused.value ?? 0, connectionLimit?.evicted.value ?? 0)
    }

    /// Returns the statistics of the connections to the backend.
    func upstreamReading() async -> UpstreamStatistics { await upstream.statistics() }

    /// Starts a task on one of the event loops.
    @discardableResult
    nonisolated func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> { scheduler.start(work) }

    /// Replaces the gateway by that of another configuration. If it throws, nothing has changed.
    func exchange(_ new: ServerConfiguration, tls: ClientTLS?, _ chain: AuthenticatorChain) async throws {
        let configuration = new.upstream(tls, embeddedPort: embeddedPort, connections: context.shares.backend)
        var upstream = upstream
        if configuration != upstreamConfiguration {
            upstream = try await Upstream.start(
                configuration: configuration, group: context.threads.group, connectCounters: connects)
        }
        let rules = calls.rules(of: new, chain: chain)
        let gateway = Gateway(
            rules: rules, dependencies: Self.dependencies(context, stores, upstream, scheduler),
            replacing: current.value)
        // No later step can fail.
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.serve(by: gateway) } }
        }
        current.value = gateway
        calls.use(rules)
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
        _ context: ServerContext, _ stores: StoresSubsystem, _ upstream: Upstream, _ scheduler: EventLoopScheduler
    ) -> GatewayDependencies {
        GatewayDependencies(
            ledger: stores.stores.ledger, sessions: stores.stores.sessions, journal: stores.stores.journal,
            history: stores.history, backend: upstream, clocks: context.clocks, scheduler: scheduler,
            digester: stores.stores.messageDigester, logger: context.logger, metrics: context.metrics)
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
        upstream.maximumConnections = min(backend.connections, connections)
        upstream.maximumWaiting = backend.waiting
        upstream.otherAddresses = backend.otherAddresses
        upstream.host = backend.address.hostField
        upstream.healthCheck = backend.check.map { .init(path: $0.path, period: TimeAmount($0.period)) }
        upstream.maximumAge = TimeAmount(backend.connectionAge)
        upstream.idleTimeout = TimeAmount(backend.profile.backend.idleTime)
        // If the backend closes idle connections sooner than usual, a send must not use one that is about to close.
        upstream.maximumIdleTimeForNonRetryable = min(upstream.maximumIdleTimeForNonRetryable, upstream.idleTimeout)
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
