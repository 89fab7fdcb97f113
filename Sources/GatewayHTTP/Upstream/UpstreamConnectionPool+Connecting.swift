internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

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
                self.connects.made.add()
                self.connected(channel, for: exchange, to: destination)
            case .failure(let error):
                self.connects.failed.add()
                self.countOut(destination)
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
        if exchange.isRepeated { return exchange.finish(.broken(reason)) }
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
            countOut(destination)
            recordFailure(of: destination)
            exchange?.finish(
                exchange?.isRepeated == true
                    ? .broken("the backend closed the new connection")
                    : .unreachable("the backend closed the new connection"))
            return connectWaiting()
        }
        // A closed circuit keeps its failure count until a response arrives.
        if !destination.circuit.isClosed { destination.circuit.succeeded() }
        connections[ObjectIdentifier(connection)] = connection
        if isShutDown {
            exchange?.finish(exchange?.isRepeated == true ? .gatewayStopped : .unreachable("the gateway is stopping"))
            retire(connection)
        } else if let exchange, !exchange.isFinished {
            connection.start(exchange)
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
