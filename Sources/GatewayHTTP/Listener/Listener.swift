public import Gateway
public import NIOCore

/// A listener for HTTP/1.1, and HTTP/2 if configured. It parses requests, runs the request pipeline on the event loop
/// of the connection, and writes responses.
public final class Listener: Sendable {
    /// The bound address. If the configured port is 0, it contains the port that the system chose.
    public let localAddress: SocketAddress

    private let channel: any Channel
    let loops: [NIOLoopBound<ListenerLoop>]
    private let socketFile: UnixSocketFile?

    /// The TCP port; nil for a Unix socket.
    public var port: Int? { localAddress.port }

    init(
        channel: any Channel, localAddress: SocketAddress, loops: [NIOLoopBound<ListenerLoop>],
        socketFile: UnixSocketFile?
    ) {
        self.channel = channel
        self.localAddress = localAddress
        self.loops = loops
        self.socketFile = socketFile
    }

    /// Stops accepting connections; open connections continue. May be called from any thread, and more than once.
    public func stopAccepting() {
        socketFile?.remove()
        channel.close(promise: nil)
    }

    /// Replaces the request pipeline for calls that start from now on. Calls in progress complete with the previous
    /// one.
    ///
    /// Each loop has its own reference, so that calls need no lock. Returns when every loop uses the new pipeline.
    public func serve(by serving: any RequestResponder) async {
        await onAllLoops { loop in
            loop.serving = serving
            return loop.eventLoop.makeSucceededVoidFuture()
        }
    }

    /// Asks clients to close their connections while requests are still served. Every response from now on contains
    /// `Connection: close`, so that no request is lost on a persistent connection that closes. New connections are
    /// accepted until `drain`.
    public func announceShutdown() async {
        await onAllLoops { loop in
            loop.announceShutdown()
            return loop.eventLoop.makeSucceededVoidFuture()
        }
    }

    /// Drains the listener and stops it.
    ///
    /// No connection is accepted any more and idle connections are closed. A request that has begun to arrive, and a
    /// call in progress, gets a response with `Connection: close`. Returns when no connection and no call is left, or
    /// at the deadline, which closes the remaining connections. Their calls continue, because calls are never
    /// cancelled; `completeCalls` waits for them.
    public func drain(deadline: NIODeadline) async {
        // Together with the listening socket, NIO closes the connections whose pipeline is still being set up. The
        // steps below therefore stop accepting and wait until all pipelines are set up.
        try? await channel.setOption(.autoRead, value: false).get()
        await onAllLoops { $0.eventLoop.makeSucceededVoidFuture() }
        try? await channel.eventLoop.submit {}.get()
        stopAccepting()
        // An error only means that the channel is closed already.
        try? await channel.closeFuture.get()
        await onAllLoops { $0.drain(until: deadline) }
    }

    /// Returns when all calls have completed, or at the deadline. Use it after `drain` for calls whose connection is
    /// closed, once the backend client is shut down.
    public func completeCalls(deadline: NIODeadline) async {
        await onAllLoops { $0.allCallsCompleted(by: deadline) }
    }

    /// Stops the listener and closes all connections at once.
    public func close() async { await drain(deadline: .uptimeNanoseconds(0)) }

    private func onAllLoops(_ work: @escaping @Sendable (ListenerLoop) -> EventLoopFuture<Void>) async {
        let futures = loops.map { loop in loop.eventLoop.flatSubmit { work(loop.value) } }
        await withTaskGroup { group in
            for future in futures { group.addTask { try? await future.get() } }
        }
    }
}

/// A snapshot of a listener's counts.
public struct ListenerStatistics: Sendable, Hashable {
    /// The number of open connections.
    public var connections = 0
    /// The number of calls in progress, including those whose client has disconnected.
    public var calls = 0
    /// The number of calls in the admission queue.
    public var waiting = 0
    /// The number of connections accepted since the start.
    public var accepted: UInt64 = 0
}

extension Listener {
    /// Returns the sum over all event loops.
    public func statistics() async -> ListenerStatistics {
        await withTaskGroup { tasks in
            for loop in loops {
                let future = loop.eventLoop.submit { loop.value.statistics }
                tasks.addTask { (try? await future.get()) ?? ListenerStatistics() }
            }
            return await tasks.reduce(into: ListenerStatistics()) { sum, reading in
                sum.connections += reading.connections
                sum.calls += reading.calls
                sum.waiting += reading.waiting
                sum.accepted += reading.accepted
            }
        }
    }
}
