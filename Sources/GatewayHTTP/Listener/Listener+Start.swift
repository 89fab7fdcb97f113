public import Gateway
internal import GatewayCore
public import GatewaySupport
internal import NIOCore
public import NIOPosix

extension Listener {
    private static let backlog: CInt = 4096
    private static let acceptPause = TimeAmount.milliseconds(200)
    /// The maximum number of bytes that are read from a socket at once, and that the HTTP/2 library gets at once.
    ///
    /// A buffer of this size holds nearly every request. NIO fills at most four of them before the handler may stop
    /// reading, which bounds the read-ahead while a call is in progress.
    static let readBytes = 2048
    // Bytes that wait for the socket count as memory only if the channel is not writable.
    private static let writeBuffer = ChannelOptions.Types.WriteBufferWaterMark(low: 4 * 1024, high: 16 * 1024)

    /// Binds the address and starts to accept connections.
    ///
    /// - Parameters:
    ///   - configuration: The address and the limits.
    ///   - serving: The request pipeline. It is called on the event loop of the connection.
    ///   - group: The event loops for the connections. It must outlive the listener.
    ///   - clocks: The clocks. The wall clock provides the `Date` field.
    ///   - connectionLimit: The connection limits that several listeners share; nil creates limits for this listener.
    ///   - inherited: A listening socket for the address from another process; nil binds a new one. With an inherited
    ///     Unix socket, the listener never removes the socket file.
    /// - Throws: The system's error if the address cannot be bound, or a `ListenerError` for the path of a Unix socket.
    public static func start(
        configuration: ListenerConfiguration, serving: any RequestResponder, group: MultiThreadedEventLoopGroup,
        clocks: Clocks = .system, connectionLimit: ConnectionLimit? = nil, inherited: CInt? = nil
    ) async throws -> Listener {
        let connectionLimit = connectionLimit ?? ConnectionLimit(configuration.connections)
        var configuration = configuration
        configuration.requestMemory = connectionLimit.requestMemory
        configuration.connectionLimit = connectionLimit
        switch configuration.address {
        case .tcp(let host, let port):
            // Name resolution may block.
            let address = try await NIOThreadPool.singleton.runIfActive {
                try SocketAddress.makeAddressResolvingHost(host, port: port)
            }
            let allowsCredentials = configuration.allowsPlaintextCredentials || Peer(address)?.isThisMachine == true
            let loops = try await makeLoops(configuration, serving, group, allowsCredentials, clocks)
            let bootstrap = bootstrap(configuration, group, loops, connectionLimit)
            let channel: any Channel
            if let inherited {
                channel = try await bootstrap.withBoundSocket(inherited).get()
            } else {
                channel = try await bootstrap.bind(to: address).get()
            }
            return Listener(
                channel: channel, localAddress: channel.localAddress ?? address, loops: loops, socketFile: nil)
        case .unix(let path, let mode):
            var file: UnixSocketFile?
            let descriptor: CInt
            if let inherited {
                descriptor = inherited
            } else {
                let made = try await NIOThreadPool.singleton.runIfActive {
                    try UnixSocketFile.make(path: path, mode: mode)
                }
                (file, descriptor) = (made, made.descriptor)
            }
            let loops = try await makeLoops(configuration, serving, group, true, clocks)
            // The bootstrap owns the descriptor from here on, even if it fails.
            let channel = try await bootstrap(configuration, group, loops, connectionLimit).withBoundSocket(descriptor)
                .get()
            return Listener(
                channel: channel, localAddress: try SocketAddress(unixDomainSocketPath: path), loops: loops,
                socketFile: file)
        }
    }

    private static func makeLoops(
        _ configuration: ListenerConfiguration, _ serving: any RequestResponder, _ group: MultiThreadedEventLoopGroup,
        _ allowsCredentials: Bool, _ clocks: Clocks
    ) async throws -> [NIOLoopBound<ListenerLoop>] {
        var loops: [NIOLoopBound<ListenerLoop>] = []
        for eventLoop in group.makeIterator() {
            let loop = eventLoop.submit {
                let loop = ListenerLoop(
                    eventLoop: eventLoop, serving: serving, configuration: configuration,
                    allowsCredentials: allowsCredentials, clocks: clocks, tick: .current)
                return NIOLoopBound(loop, eventLoop: eventLoop)
            }
            loops.append(try await loop.get())
        }
        return loops
    }

    private static func bootstrap(
        _ configuration: ListenerConfiguration, _ group: MultiThreadedEventLoopGroup,
        _ loops: [NIOLoopBound<ListenerLoop>], _ connectionLimit: ConnectionLimit
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // If `accept` fails, for example for lack of file descriptors, the listener pauses for `acceptPause`. The
            // default pause of `AcceptBackoffHandler` is one second.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false) { _ in acceptPause })
                }
            }
            // A client that half-closes after its request still receives its response.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: writeBuffer)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readBytes))
            .childChannelInitializer { channel in admit(channel, connectionLimit, loops) }
    }

    // Runs on the connection's loop. An error closes the connection at once.
    private static func admit(
        _ channel: any Channel, _ connectionLimit: ConnectionLimit, _ loops: [NIOLoopBound<ListenerLoop>]
    ) -> EventLoopFuture<Void> {
        let eventLoop = channel.eventLoop
        guard let loop = loops.first(where: { $0.eventLoop === eventLoop }),
            let peer = channel.remoteAddress.flatMap(Peer.init)
        else { return eventLoop.makeFailedFuture(ConnectionRejected()) }
        let trust = loop.value.configuration.trustedProxies
        let isProxy = trust.includes(peer)
        // A listener with the PROXY protocol accepts only trusted proxies.
        guard isProxy || trust.source != .proxyProtocol else { return eventLoop.makeFailedFuture(ConnectionRejected()) }
        return connectionLimit.admit(isProxy ? nil : peer, on: eventLoop).flatMapThrowing { isAdmitted in
            guard isAdmitted else { throw ConnectionRejected() }
            channel.closeFuture.whenComplete { _ in connectionLimit.release(isProxy ? nil : peer) }
            try open(channel, of: peer, connectionLimit, loop.value)
        }
    }

    private static func open(
        _ channel: any Channel, of peer: Peer, _ connectionLimit: ConnectionLimit, _ loop: ListenerLoop
    ) throws {
        if ConnectionSetup.isNeeded(loop.configuration) {
            try ConnectionSetup(channel: channel, loop: loop, peer: peer, connectionLimit: connectionLimit).start()
        } else {
            try channel.pipeline.syncOperations.addHandler(
                HTTP1ConnectionHandler(loop: loop, peer: peer, trustedProxy: loop.trustedProxy(peer)))
        }
    }
}

/// The error that closes a connection that is not admitted: a limit is reached, the peer is not trusted, or the peer
/// has already disconnected.
private struct ConnectionRejected: Error {}
