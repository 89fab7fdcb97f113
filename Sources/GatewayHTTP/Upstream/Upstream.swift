public import Gateway
internal import NIOCore
public import NIOPosix
internal import Synchronization

/// The HTTP/1.1 client for the backend. Each event loop has its own pool of persistent connections.
///
/// The client writes a request at most twice, and a second time only if its `mayBeRepeated` is true.
public final class Upstream: Backend {
    let loops: [NIOLoopBound<UpstreamConnectionPool>]
    let connects: ConnectCounters
    private let isShutDown = Atomic(false)

    private init(loops: [NIOLoopBound<UpstreamConnectionPool>], connects: ConnectCounters) {
        self.loops = loops
        self.connects = connects
    }

    /// Closes the idle connections if `shutdown()` was not called.
    deinit {
        if isShutDown.load(ordering: .relaxed) { return }
        for loop in loops { loop.eventLoop.execute { _ = loop.value.shutDown() } }
    }

    /// Creates one pool for each loop of the group. Connections are made on demand. The group must outlive the client.
    ///
    /// - Parameter connects: The counters of connection attempts. On a reload, pass those of the previous client.
    public static func start(
        configuration: UpstreamConfiguration, group: MultiThreadedEventLoopGroup,
        connects: ConnectCounters = ConnectCounters()
    ) async throws -> Upstream {
        var configuration = configuration
        if configuration.tls == nil, configuration.addresses.contains(where: \.isSecure) {
            configuration.tls = try await NIOThreadPool.singleton.runIfActive { try ClientTLS(ClientTLS.Settings()) }
        }
        let eventLoops = Array(group.makeIterator())
        let maximum = max(1, configuration.maximumConnections / eventLoops.count)
        configuration.maximumWaiting = (configuration.maximumWaiting + eventLoops.count - 1) / eventLoops.count
        let health = configuration.addresses.map { _ in DestinationHealth() }
        var loops: [NIOLoopBound<UpstreamConnectionPool>] = []
        for eventLoop in eventLoops {
            let loop = eventLoop.submit { [configuration] in
                let loop = UpstreamConnectionPool(
                    eventLoop: eventLoop, configuration: configuration, health: health, maximum: maximum,
                    connects: connects)
                return NIOLoopBound(loop, eventLoop: eventLoop)
            }
            loops.append(try await loop.get())
        }
        // The first loop performs the health checks on behalf of all loops.
        if configuration.healthCheck != nil, let first = loops.first {
            first.eventLoop.execute { first.value.startChecks() }
        }
        return Upstream(loops: loops, connects: connects)
    }

    /// Sends the request through the pool of the current event loop, or of the first one if the caller is not on a
    /// loop.
    public func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        let (bytes, mayBeRepeated, deadline) = (request.bytes, request.mayBeRepeated, request.deadline)
        let current = MultiThreadedEventLoopGroup.currentEventLoop
        return await withCheckedContinuation { continuation in
            if let current, let loop = loops.first(where: { $0.eventLoop === current }) {
                loop.value.send(
                    PendingExchange(
                        bytes: bytes, mayBeRepeated: mayBeRepeated, deadline: deadline,
                        completion: { continuation.resume(returning: $0) }))
            } else {
                // A group has at least one loop.
                let loop = loops[0]
                loop.eventLoop.execute {
                    loop.value.send(
                        PendingExchange(
                            bytes: bytes, mayBeRepeated: mayBeRepeated, deadline: deadline,
                            completion: { continuation.resume(returning: $0) }))
                }
            }
        }
    }

    /// Whether the pool of the current event loop has neither a free connection nor a free place in its queue. False if
    /// the caller is not on a loop of the group.
    public var isFull: Bool {
        guard let current = MultiThreadedEventLoopGroup.currentEventLoop else { return false }
        return loops.first { $0.eventLoop === current }?.value.isFull ?? false
    }

    /// Closes all connections. Requests in the queue complete with `.unreachable`, requests in progress with `.gatewayStopped`.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        for loop in loops {
            // The future never fails. An event loop that is shut down has no connections.
            try? await loop.eventLoop.flatSubmit { loop.value.shutDown() }.get()
        }
    }
}
