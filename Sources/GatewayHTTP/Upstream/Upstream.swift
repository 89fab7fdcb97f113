public import Gateway
internal import NIOCore
public import NIOPosix
internal import Synchronization

/// The backend over HTTP/1.1: kept-alive connections, a pool of them for each event loop.
///
/// A request that may not be repeated is put on the wire at most once, whatever happens.
public final class Upstream: Backend {
    let loops: [NIOLoopBound<UpstreamConnectionPool>]
    let connects: ConnectCounters
    private let isShutDown = Atomic(false)

    private init(loops: [NIOLoopBound<UpstreamConnectionPool>], connects: ConnectCounters) {
        self.loops = loops
        self.connects = connects
    }

    /// Whoever could have sent by it is gone: its kept connections are of no use to anybody.
    deinit {
        if isShutDown.load(ordering: .relaxed) { return }
        for loop in loops { loop.eventLoop.execute { _ = loop.value.shutDown() } }
    }

    /// Makes a pool for each loop of the group; connections are made when they are needed. The group must outlive it.
    ///
    /// - Parameter connects: counts the attempts to make some; those of a former one, where this takes its place.
    public static func start(
        configuration: UpstreamConfiguration, group: MultiThreadedEventLoopGroup,
        connects: ConnectCounters = ConnectCounters()
    ) async throws -> Upstream {
        var configuration = configuration
        if configuration.tls == nil, configuration.addresses.contains(where: \.isSecure) {
            configuration.tls = try await NIOThreadPool.singleton.runIfActive { try ClientTLS(ClientTLS.Settings()) }
        }
        let eventLoops = Array(group.makeIterator())
        let maximum = max(1, configuration.connections / eventLoops.count)
        configuration.waiting = (configuration.waiting + eventLoops.count - 1) / eventLoops.count
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
        // One loop asks for all of them.
        if configuration.check != nil, let first = loops.first { first.eventLoop.execute { first.value.startChecks() } }
        return Upstream(loops: loops, connects: connects)
    }

    /// Sends the request by the pool of the loop that the call is on; on none of them, by that of the first.
    public func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        let (bytes, mayBeRepeated, deadline) = (request.bytes, request.mayBeRepeated, request.deadline)
        let current = MultiThreadedEventLoopGroup.currentEventLoop
        return await withCheckedContinuation { continuation in
            if let current, let loop = loops.first(where: { $0.eventLoop === current }) {
                loop.value.send(
                    PendingExchange(
                        bytes: bytes, mayBeRepeated: mayBeRepeated, deadline: deadline,
                        answered: { continuation.resume(returning: $0) }))
            } else {
                // A group has one loop at least.
                let loop = loops[0]
                loop.eventLoop.execute {
                    loop.value.send(
                        PendingExchange(
                            bytes: bytes, mayBeRepeated: mayBeRepeated, deadline: deadline,
                            answered: { continuation.resume(returning: $0) }))
                }
            }
        }
    }

    /// Whether the pool of the loop that the call is on has neither a connection nor room to wait for one.
    public var isFull: Bool {
        guard let current = MultiThreadedEventLoopGroup.currentEventLoop else { return false }
        return loops.first { $0.eventLoop === current }?.value.isFull ?? false
    }

    /// Closes all connections; requests that wait or are under way end as `.unreachable` or `.cutOff`.
    public func shutdown() async {
        isShutDown.store(true, ordering: .relaxed)
        for loop in loops {
            // The future never fails; an event loop that is shut down already has no connections.
            try? await loop.eventLoop.flatSubmit { loop.value.shutDown() }.get()
        }
    }
}
