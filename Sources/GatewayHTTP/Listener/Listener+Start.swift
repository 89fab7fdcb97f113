public import Gateway
public import GatewayCore
internal import NIOCore
public import NIOPosix

extension Listener {
    private static let backlog: CInt = 4096
    private static let acceptPause = TimeAmount.milliseconds(200)
    // A request nearly always fits, and four of them bound what is read ahead of a served call.
    private static let readBytes = 2048

    /// Binds the address and accepts connections from then on.
    ///
    /// - Parameters:
    ///   - configuration: Where, and within which limits.
    ///   - serving: What answers the requests; called on the loop of the connection.
    ///   - group: Connections are spread over its loops. It must outlive the listener.
    ///   - clocks: The wall clock is that of `Date`.
    ///   - caps: Counts connections for several listeners; unless given, this one counts for itself.
    ///   - inherited: A socket that listens at the address already and is not this process's alone; unless given, one is made.
    ///     Of a Unix socket the file then stays where it is.
    /// - Throws: What the system says if the address cannot be had; `ListenerError` for the path of a Unix socket.
    public static func start(
        configuration: ListenerConfiguration, serving: any RequestResponder, group: MultiThreadedEventLoopGroup,
        clocks: Clocks = .system, caps: ConnectionLimit? = nil, inherited: CInt? = nil
    ) async throws -> Listener {
        let caps = caps ?? ConnectionLimit(configuration.connections)
        var configuration = configuration
        configuration.requestMemory = caps.requestMemory
        configuration.caps = caps
        switch configuration.address {
        case .tcp(let host, let port):
            // Resolving may block.
            let address = try await NIOThreadPool.singleton.runIfActive {
                try SocketAddress.makeAddressResolvingHost(host, port: port)
            }
            let allowsCredentials = configuration.plaintextCredentials || Peer(address)?.isThisMachine == true
            let loops = try await makeLoops(configuration, serving, group, allowsCredentials, clocks)
            let bootstrap = bootstrap(configuration, group, loops, caps)
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
            // The bootstrap owns the descriptor from here on, also where it fails.
            let channel = try await bootstrap(configuration, group, loops, caps).withBoundSocket(descriptor).get()
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
        _ loops: [NIOLoopBound<ListenerLoop>], _ caps: ConnectionLimit
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Where the system has no descriptor left, others may be closed a moment later; the bootstrap's own pause is a second.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptBackoffHandler(shouldForwardIOErrorCaught: false) { _ in acceptPause })
                }
            }
            // A client that half-closes after its request still gets its answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readBytes))
            .childChannelInitializer { channel in admit(channel, caps, loops) }
    }

    // On the connection's loop. An error closes the connection at once.
    private static func admit(
        _ channel: any Channel, _ caps: ConnectionLimit, _ loops: [NIOLoopBound<ListenerLoop>]
    ) -> EventLoopFuture<Void> {
        let eventLoop = channel.eventLoop
        guard let loop = loops.first(where: { $0.eventLoop === eventLoop }),
            let peer = channel.remoteAddress.flatMap(Peer.init)
        else { return eventLoop.makeFailedFuture(ConnectionRejected()) }
        let trust = loop.value.configuration.trust
        let isProxy = trust.includes(peer)
        // A listener for proxies that announce their clients is for nobody else: who is not listed is not heard.
        guard isProxy || trust.source != .proxyProtocol else { return eventLoop.makeFailedFuture(ConnectionRejected()) }
        return caps.admit(isProxy ? nil : peer, on: eventLoop).flatMapThrowing { isAdmitted in
            guard isAdmitted else { throw ConnectionRejected() }
            channel.closeFuture.whenComplete { _ in caps.release(isProxy ? nil : peer) }
            try open(channel, of: peer, caps, loop.value)
        }
    }

    private static func open(
        _ channel: any Channel, of peer: Peer, _ caps: ConnectionLimit, _ loop: ListenerLoop
    ) throws {
        if ConnectionSetup.isNeeded(loop.configuration) {
            try ConnectionSetup(channel: channel, loop: loop, peer: peer, caps: caps).start()
        } else {
            try channel.pipeline.syncOperations.addHandler(
                ConnectionHandler(loop: loop, peer: peer, trustedProxy: loop.trustedProxy(peer)))
        }
    }
}

/// Closes an accepted connection that is one too many, or of nobody that is taken, or whose peer is gone already; nobody reads it.
private struct ConnectionRejected: Error {}
