internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import NIOPosix
internal import OutboundTLS

extension UpstreamConnectionPool {
    /// Opens a connection and sends the exchange on it.
    ///
    /// - Parameters:
    ///   - exchange: The request to send; nil for the probe of an open circuit.
    ///   - isCheck: Whether the connection is a health check or a probe. In that case no other address is tried.
    func connect(for exchange: PendingExchange?, to destination: UpstreamDestination, isCheck: Bool = false) {
        open += 1
        destination.open += 1
        exchange?.tried.append(ObjectIdentifier(destination))
        exchange?.startTimer(on: eventLoop) { exchange?.finish(.timedOut) }
        makeChannel(to: destination).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let channel):
                self.connectCounters.made.add()
                self.connected(channel, for: exchange, to: destination)
            case .failure(let error):
                self.connectCounters.failed.add()
                self.decrementOpenCount(destination)
                self.recordFailure(of: destination)
                let reason = "cannot connect to the backend: \(ConnectionFailure.backendReason(of: error))"
                self.connectionFailed(reason, exchange, isCheck: isCheck)
                self.connectWaiting()
            }
        }
    }

    private func connectionFailed(_ reason: String, _ exchange: PendingExchange?, isCheck: Bool) {
        guard let exchange, !exchange.isFinished else { return }
        // The first attempt has written bytes, so the exchange can no longer be reported as unreachable.
        if exchange.isRetry { return exchange.finish(.broken(reason)) }
        if isCheck || isShutDown { return exchange.finish(.unreachable(reason)) }
        if let next = self.destination(for: exchange), exchange.deadline > eventLoop.now {
            connect(for: exchange, to: next)
        } else {
            exchange.finish(.unreachable(reason))
        }
    }

    private func connected(_ channel: any Channel, for exchange: PendingExchange?, to destination: UpstreamDestination)
    {
        guard let connection = try? channel.pipeline.syncOperations.handler(type: UpstreamConnection.self) else {
            // The connection was closed during setup, which removed its handler.
            decrementOpenCount(destination)
            recordFailure(of: destination)
            exchange?.finish(
                exchange?.isRetry == true
                    ? .broken("the backend closed the new connection")
                    : .unreachable("the backend closed the new connection"))
            return connectWaiting()
        }
        // A closed circuit keeps its failure count until a response arrives.
        if !destination.circuit.isClosed { destination.circuit.succeeded() }
        connections[ObjectIdentifier(connection)] = connection
        if isShutDown {
            exchange?.finish(exchange?.isRetry == true ? .gatewayStopped : .unreachable("the gateway is stopping"))
            discard(connection)
        } else if let exchange, !exchange.isFinished, connection.start(exchange) {
            return
        } else {
            release(connection)
        }
    }

    /// Opens connections for queued requests while the limit allows it.
    func connectWaiting() {
        while open < maximum, !isShutDown, let exchange = waiting.popFirst() {
            if let destination = destination(for: exchange) {
                connect(for: exchange, to: destination)
            } else {
                exchange.finish(.circuitOpen)
            }
        }
    }
}

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
                        try tls.add(to: channel, host: host, timeout: pool.configuration.connectTimeout)
                    }
                    try channel.pipeline.syncOperations.addHandler(
                        UpstreamConnection(pool: pool, destination: place.value))
                }
            }
    }
}
