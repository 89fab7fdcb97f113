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

/// The gateway that the listeners use and its connections to the backends. A reload exchanges both together while the
/// sockets stay open.
actor RunningGateway {
    /// The gateway for new calls, also used for calls that the gateway makes itself.
    nonisolated let current: HotSwappable<Gateway>

    private let context: ServerContext
    private let subsystems: Subsystems
    private let scheduler: EventLoopScheduler
    private let embeddedPorts: [Int?]
    private let connects = ConnectCounters()
    /// The connections to each backend, in the order of the configuration.
    private var upstreams: [Connections]
    /// The previous connection pools that earlier calls may still use. Each closes by itself when its last call has
    /// completed.
    private var former: [Previous] = []
    private var listeners: [Listener] = []
    /// The upstream that serves each push service now.
    private var servedBy: [PushService: UpstreamName]
    private var connectionLimit: ConnectionLimit?

    private struct Previous {
        weak var upstream: Upstream?
    }

    /// The connections to one backend.
    private struct Connections {
        let name: UpstreamName
        let configuration: UpstreamConfiguration
        let upstream: Upstream
    }

    /// Starts the connections to the backends and creates the gateway of the first configuration.
    ///
    /// - Parameters:
    ///   - tls: The verification of each backend's certificate; nil without TLS.
    ///   - embeddedPorts: The port of each embedded backend; nil for another backend.
    init(
        _ context: ServerContext, _ subsystems: Subsystems, tls: [ClientTLS?], embeddedPorts: [Int?]
    ) async throws {
        self.context = context
        self.subsystems = subsystems
        self.embeddedPorts = embeddedPorts
        scheduler = try await EventLoopScheduler.start(group: context.threads.group)
        upstreams = try await Self.connections(
            context.configuration, tls, embeddedPorts, replacing: [], context, countedBy: connects)
        try await subsystems.stores.stores.ledger.assignUpstreams(context.configuration.upstreamNames)
        current = HotSwappable(
            Gateway(
                rules: subsystems.calls.firstRules,
                dependencies: Self.dependencies(context, subsystems, upstreams.map(\.upstream), scheduler)))
        servedBy = context.configuration.upstreamNames
    }

    /// Sets the listeners that `exchange` updates, and the counter of their connections.
    func attach(_ listeners: [Listener], countedBy connectionLimit: ConnectionLimit) {
        self.listeners = listeners
        self.connectionLimit = connectionLimit
    }

    /// The memory for incomplete requests and unread responses; nil before there are listeners.
    var requestMemory: RequestMemory? { connectionLimit?.requestMemory }

    /// Returns the statistics of each listener with its address.
    func listenerReadings() async -> [(listener: String, reading: ListenerStatistics)] {
        var readings: [(String, ListenerStatistics)] = []
        for listener in listeners {
            readings.append((listener.localAddress.metricLabel, await listener.statistics()))
        }
        return readings
    }

    /// The numbers of connections that were rejected, closed to make room for others, and closed because of their
    /// frames.
    var connectionsOverLimit: (refused: UInt64, evicted: UInt64, overFrameLimit: UInt64) {
        (
            connectionLimit?.refused.value ?? 0, connectionLimit?.evicted.value ?? 0,
            connectionLimit?.frameLimit.value ?? 0
        )
    }

    /// Logs the limits that clients have exceeded since the last call. Called every second.
    func logExceededLimits() {
        guard let connectionLimit else { return }
        let now = context.clocks.monotonic()
        func metadata(_ report: ExceededLimit.Report) -> Logger.Metadata {
            ["count": "\(report.count)", "peer": "\(report.peer)"]
        }
        if let report = connectionLimit.frameLimit.report(now: now) {
            context.logger.warning(
                "HTTP/2 connections closed because of too many frames without use", metadata: metadata(report))
        }
        if let report = connectionLimit.requestMemory.refused.report(now: now) {
            context.logger.warning(
                "Requests, responses or connections ended because the memory of connections is limited",
                metadata: metadata(report))
        }
    }

    /// Returns the statistics of the connections to all backends together.
    func upstreamReading() async -> UpstreamStatistics {
        // A configuration has at least one backend.
        var reading = await upstreams[0].upstream.statistics()
        for connections in upstreams.dropFirst() { reading.append(await connections.upstream.statistics()) }
        return reading
    }

    /// Verifies a password that was entered in the console, on one of the event loops.
    nonisolated func logIn(
        _ user: String, password: [UInt8], from peer: Peer, as call: CallID
    ) async -> Result<VerifiedLogin, Rejection> {
        await withCheckedContinuation { continuation in
            start { [current] in
                continuation.resume(
                    returning: await current.value.logIn(user, password: password, from: peer, as: call))
            }
        }
    }

    /// Returns the URL of the identity provider for a login to the console.
    nonisolated func beginBrowserLogin(_ request: BrowserLoginRequest) async -> BrowserLoginStart {
        await current.value.beginBrowserLogin(request)
    }

    /// Completes a login to the console at the identity provider, on one of the event loops.
    nonisolated func completeBrowserLogin(
        _ response: BrowserLoginResponse, since epoch: RevocationEpoch, from peer: Peer, as call: CallID
    ) async -> Result<VerifiedLogin, Rejection> {
        await withCheckedContinuation { continuation in
            start { [current] in
                continuation.resume(
                    returning: await current.value.completeBrowserLogin(response, since: epoch, from: peer, as: call))
            }
        }
    }

    /// Starts a task on one of the event loops.
    @discardableResult
    nonisolated func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> { scheduler.start(work) }

    /// Replaces the gateway by that of another configuration. If it throws, nothing has changed.
    func exchange(_ new: ServerConfiguration, tls: [ClientTLS?], _ chain: AuthenticatorChain) async throws {
        let next = try await Self.connections(
            new, tls, embeddedPorts, replacing: upstreams, context, countedBy: connects)
        // Imported registrations belong to the upstreams that have served their platforms up to now.
        if new.upstreamNames != servedBy { try await subsystems.stores.stores.ledger.assignUpstreams(servedBy) }
        let rules = subsystems.calls.rules(of: new, chain: chain)
        let gateway = Gateway(
            rules: rules,
            dependencies: Self.dependencies(context, subsystems, next.map(\.upstream), scheduler),
            replacing: current.value)
        // No later step can fail.
        await withTaskGroup { tasks in
            for listener in listeners { tasks.addTask { await listener.serve(by: gateway) } }
        }
        current.value = gateway
        subsystems.calls.use(rules)
        subsystems.calls.hub.value = HubRegistrations(configuration: new, tls: tls, clocks: context.clocks)
        for old in upstreams where !next.contains(where: { $0.upstream === old.upstream }) {
            former.append(Previous(upstream: old.upstream))
        }
        former.removeAll { $0.upstream == nil }
        upstreams = next
        servedBy = new.upstreamNames
    }

    /// Closes all connections to the backends. Requests in progress on them fail as interrupted.
    func shutdownUpstream() async {
        for connections in upstreams { await connections.upstream.shutdown() }
        for former in former { await former.upstream?.shutdown() }
    }

    /// Returns the connections of a configuration. Those whose settings stay the same are kept.
    private static func connections(
        _ configuration: ServerConfiguration, _ tls: [ClientTLS?], _ embeddedPorts: [Int?],
        replacing present: [Connections], _ context: ServerContext, countedBy counters: ConnectCounters
    ) async throws -> [Connections] {
        let share = max(1, context.shares.backend / configuration.backends.count)
        var all: [Connections] = []
        for (index, section) in configuration.backends.enumerated() {
            let settings = section.upstream(
                tls[index], embeddedPort: index < embeddedPorts.count ? embeddedPorts[index] : nil, connections: share)
            if let kept = present.first(where: { $0.name == section.name && $0.configuration == settings }) {
                all.append(kept)
                continue
            }
            let upstream = try await Upstream.start(
                configuration: settings, group: context.threads.group, connectCounters: counters)
            all.append(Connections(name: section.name, configuration: settings, upstream: upstream))
        }
        return all
    }

    private static func dependencies(
        _ context: ServerContext, _ subsystems: Subsystems, _ upstreams: [Upstream], _ scheduler: EventLoopScheduler
    ) -> GatewayDependencies {
        let stores = subsystems.stores
        var dependencies = GatewayDependencies(
            ledger: stores.stores.ledger, sessions: stores.stores.sessions, journal: stores.stores.journal,
            history: stores.calls, texts: stores.stores.texts, backends: upstreams, clocks: context.clocks,
            scheduler: scheduler,
            digester: stores.stores.messageDigester, logger: context.logger, metrics: context.metrics)
        dependencies.keyedSends = stores.stores.keyedSendRegister
        dependencies.spans = subsystems.tracing.recorder
        return dependencies
    }
}

extension ServerConfiguration {
    /// The upstream that serves each push service.
    fileprivate var upstreamNames: [PushService: UpstreamName] {
        backends.reduce(into: [:]) { names, section in
            for service in section.services { names[service] = section.name }
        }
    }
}

extension ServerConfiguration.BackendSection {
    /// Returns the settings of the connections to the backend.
    ///
    /// - Parameters:
    ///   - tls: The verification of the backend's certificate; nil without TLS.
    ///   - embeddedPort: The port of the embedded backend, if that is configured.
    ///   - connections: The maximum number of connections.
    func upstream(_ tls: ClientTLS?, embeddedPort: Int?, connections: Int) -> UpstreamConfiguration {
        let address: UpstreamAddress =
            switch self.address {
            case .remote(let address): address
            case .embedded: .tcp(host: "127.0.0.1", port: embeddedPort ?? 0)
            }
        var upstream = UpstreamConfiguration(address: address)
        upstream.tls = tls
        upstream.maximumConnections = min(self.connections, connections)
        upstream.maximumWaiting = waiting
        upstream.otherAddresses = otherAddresses
        upstream.host = self.address.hostField
        upstream.healthCheck = check.map { .init(path: $0.path, period: TimeAmount($0.period)) }
        upstream.maximumAge = TimeAmount(connectionAge)
        upstream.idleTimeout = TimeAmount(profile.backend.idleTime)
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
