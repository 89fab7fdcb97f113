public import Gateway
public import NIOCore

/// A listener of HTTP/1.1, and of HTTP/2 where it is configured: frames requests, hands them to the way of a call on the connection's own event loop, writes answers.
public final class Listener: Sendable {
    /// The address that is listened on; for port 0 in the configuration, with the port that was free.
    public let localAddress: SocketAddress

    private let channel: any Channel
    let loops: [NIOLoopBound<ListenerLoop>]
    private let socketFile: UnixSocketFile?

    /// The TCP port, nil for a Unix socket.
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

    /// Stops taking new connections; those that are there go on. May be called from any thread, and more than once.
    public func stopAccepting() {
        socketFile?.remove()
        channel.close(promise: nil)
    }

    /// Has the calls that begin from now on served by another. Those that are under way end as they began.
    ///
    /// Each loop has its own reference, so that no call takes a lock for it. Returns when every loop has the new one.
    public func serve(by serving: any RequestResponder) async {
        await onAllLoops { loop in
            loop.serving = serving
            return loop.eventLoop.makeSucceededVoidFuture()
        }
    }

    /// Has clients leave in good order while they are still served: each answer from now on says `Connection: close`, and a
    /// request that is on its way on a kept connection does not meet its end. New connections are taken until `drain`.
    public func announceEnd() async {
        await onAllLoops { loop in
            loop.announceEnd()
            return loop.eventLoop.makeSucceededVoidFuture()
        }
    }

    /// Ends the listener in good order.
    ///
    /// No new connections; idle ones are closed; a request that has begun to arrive, and a call that is served, is answered
    /// with `Connection: close`. Returns when nothing is left. At the deadline what is left is cut; calls then still go on,
    /// as they are never cancelled, but no client is told of their end: `finishCalls` waits for it.
    public func drain(deadline: NIODeadline) async {
        // Whoever was accepted is let in first: with the listening socket NIO closes those whose pipeline is still being made.
        try? await channel.setOption(.autoRead, value: false).get()
        await onAllLoops { $0.eventLoop.makeSucceededVoidFuture() }
        try? await channel.eventLoop.submit {}.get()
        stopAccepting()
        // An error would say only that it is closed already.
        try? await channel.closeFuture.get()
        await onAllLoops { $0.drain(until: deadline) }
    }

    /// Returns when every call has come to its end, or at the deadline: for what `drain` cut, once the backend is out of reach.
    public func finishCalls(deadline: NIODeadline) async {
        await onAllLoops { $0.endOfCalls(by: deadline) }
    }

    /// Ends the listener and cuts all connections.
    public func close() async { await drain(deadline: .uptimeNanoseconds(0)) }

    private func onAllLoops(_ work: @escaping @Sendable (ListenerLoop) -> EventLoopFuture<Void>) async {
        let futures = loops.map { loop in loop.eventLoop.flatSubmit { work(loop.value) } }
        await withTaskGroup { group in
            for future in futures { group.addTask { try? await future.get() } }
        }
    }
}
