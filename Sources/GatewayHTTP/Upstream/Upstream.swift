public import Gateway
internal import NIOCore
public import NIOPosix
internal import Synchronization

/// The HTTP/1.1 client for the backend. Each event loop has its own pool of persistent connections.
///
/// A request is written at most twice: it is retried once, and only if it is retryable.
public final class Upstream: Backend {
    let pools: [NIOLoopBound<UpstreamConnectionPool>]
    let connectCounters: ConnectCounters
    private let isShutDown = Atomic(false)

    private init(pools: [NIOLoopBound<UpstreamConnectionPool>], connectCounters: ConnectCounters) {
        self.pools = pools
        self.connectCounters = connectCounters
    }

    /// Shuts down the pools if `shutdown()` was not called.
    deinit {
        if isShutDown.load(ordering: .relaxed) { return }
        for pool in pools { pool.eventLoop.execute { _ = pool.value.shutDown() } }
    }

    /// Creates one pool for each loop of the group. Connections are made on demand. The group must outlive the client.
    ///
    /// - Parameter connectCounters: The counters of connection attempts. On a reload, pass those of the replaced `Upstream`.
    public static func start(
        configuration: UpstreamConfiguration, group: MultiThreadedEventLoopGroup,
        connectCounters: ConnectCounters = ConnectCounters()
    ) async throws -> Upstream {
        var configuration = configuration
        if configuration.tls == nil, configuration.addresses.contains(where: \.isSecure) {
            configuration.tls = try await NIOThreadPool.singleton.runIfActive { try ClientTLS(ClientTLS.Settings()) }
        }
        let eventLoops = Array(group.makeIterator())
        let maximum = max(1, configuration.maximumConnections / eventLoops.count)
        configuration.maximumWaiting = (configuration.maximumWaiting + eventLoops.count - 1) / eventLoops.count
        let health = configuration.addresses.map { _ in DestinationHealth() }
        var pools: [NIOLoopBound<UpstreamConnectionPool>] = []
        for eventLoop in eventLoops {
            let pool = eventLoop.submit { [configuration] in
                let pool = UpstreamConnectionPool(
                    eventLoop: eventLoop, configuration: configuration, health: health, maximum: maximum,
                    connectCounters: connectCounters)
                return NIOLoopBound(pool, eventLoop: eventLoop)
            }
            pools.append(try await pool.get())
        }
        // The first loop performs the health checks on behalf of all pools.
        if configuration.healthCheck != nil, let first = pools.first {
            first.eventLoop.execute { first.value.startChecks() }
        }
        return Upstream(pools: pools, connectCounters: connectCounters)
    }

    /// Sends the request through the pool of the current event loop, or of the first loop if the caller is not on a
    /// loop of the group.
    public func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        let (bytes, isRetryable, deadline) = (request.bytes, request.isRetryable, request.deadline)
        let caller = request.caller
        let current = MultiThreadedEventLoopGroup.currentEventLoop
        return await withCheckedContinuation { continuation in
            if let current, let pool = pools.first(where: { $0.eventLoop === current }) {
                pool.value.send(
                    PendingExchange(
                        bytes: bytes, isRetryable: isRetryable, deadline: deadline, caller: caller,
                        completion: { continuation.resume(returning: $0) }))
            } else {
                // A group has at least one loop.
                let pool = pools[0]
                pool.eventLoop.execute {
                    pool.value.send(
                        PendingExchange(
                            bytes: bytes, isRetryable: isRetryable, deadline: deadline, caller: caller,
                            completion: { continuation.resume(returning: $0) }))
                }
            }
        }
    }

    /// Whether the pool of the current event loop has neither a free connection nor a free place in its queue. False if
    /// the caller is not on a loop of the group.
    public var isFull: Bool {
        guard let current = MultiThreadedEventLoopGroup.currentEventLoop else { return false }
        return pools.first { $0.eventLoop === current }?.value.isFull ?? false
    }

    /// Closes all connections. Requests in the queue complete with `.unreachable`, requests in progress with `.gatewayStopped`.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        for pool in pools {
            // This fails only on an event loop that is already shut down, which has no connections.
            try? await pool.eventLoop.flatSubmit { pool.value.shutDown() }.get()
        }
    }
}
