internal import NIOCore
internal import NIOPosix

extension UpstreamConnectionPool {
    /// Opens a connection to the destination, with TLS if its address requires it. The future succeeds when a request
    /// may be written.
    func makeChannel(to destination: UpstreamDestination) -> EventLoopFuture<any Channel> {
        switch destination.address {
        case .unix(let path):
            return bootstrap(destination, host: nil).connect(unixDomainSocketPath: path)
        case .tcp(let host, let port):
            return Self.connect(bootstrap(destination, host: nil), host, port)
        case .tls(let host, let port):
            return Self.connect(bootstrap(destination, host: host), host, port).assumeIsolated().flatMap { channel in
                guard let waiter = try? channel.pipeline.syncOperations.handler(type: TLSHandshakeHandler.self) else {
                    // The handler has removed itself, because the handshake has already succeeded or failed.
                    return channel.eventLoop.makeSucceededFuture(channel)
                }
                return waiter.finished.map { channel }
            }.nonisolated()
        }
    }

    private static func connect(
        _ bootstrap: ClientBootstrap, _ host: String, _ port: Int
    ) -> EventLoopFuture<any Channel> {
        if let address = try? SocketAddress(ipAddress: host, port: port) { return bootstrap.connect(to: address) }
        return bootstrap.connect(host: host, port: port)
    }

    // - Parameter host: The host whose certificate TLS verifies; nil for a connection without TLS.
    private func bootstrap(_ destination: UpstreamDestination, host: String?) -> ClientBootstrap {
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        let place = NIOLoopBound(destination, eventLoop: eventLoop)
        return ClientBootstrap(group: eventLoop)
            .connectTimeout(configuration.connectTimeout)
            .channelOption(.writeBufferWaterMark, value: UpstreamConnection.watermark)
            .channelInitializer { [eventLoop] channel in
                eventLoop.makeCompletedFuture {
                    let pool = bound.value
                    if let host {
                        // The pool never falls back to an unencrypted connection.
                        guard let tls = pool.configuration.tls else { throw TLSConfigurationError.noAuthority }
                        try channel.pipeline.syncOperations.addHandlers([
                            try tls.handler(host: host),
                            TLSHandshakeHandler(on: pool.eventLoop, timeout: pool.configuration.connectTimeout),
                        ])
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        UpstreamConnection(pool: pool, destination: place.value))
                }
            }
    }
}
