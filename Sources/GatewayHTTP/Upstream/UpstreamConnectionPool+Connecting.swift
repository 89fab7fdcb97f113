internal import Gateway
internal import GatewayCore
internal import NIOCore

extension UpstreamConnectionPool {
    /// Makes a connection, and sends by it.
    ///
    /// - Parameters:
    ///   - exchange: What is sent by it; nil where it is only to be seen whether it can be made.
    ///   - isCheck: Whether no call waits for it: then no other address is tried.
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
                self.leave(destination)
                self.note(failureOf: destination)
                self.notConnected("no connection to the backend: \(error)", exchange, isCheck: isCheck)
                self.connectWaiting()
            }
        }
    }

    private func notConnected(_ reason: String, _ exchange: PendingExchange?, isCheck: Bool) {
        guard let exchange, !exchange.isFinished else { return }
        // After a first attempt bytes have left, whatever became of the second.
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
            // It was closed while it was being made, and its handler is gone with it.
            leave(destination)
            note(failureOf: destination)
            exchange?.finish(exchange?.isRepeated == true ? .broken("closed at once") : .unreachable("closed at once"))
            return connectWaiting()
        }
        // Of an address that is in use only an answer says that it is well.
        if !destination.circuit.isClosed { destination.circuit.succeeded() }
        connections[ObjectIdentifier(connection)] = connection
        if isShutDown {
            exchange?.finish(exchange?.isRepeated == true ? .cutOff : .unreachable("the gateway is stopping"))
            retire(connection)
        } else if let exchange, !exchange.isFinished {
            connection.start(exchange)
        } else {
            release(connection)
        }
    }

    /// Makes connections for those that wait for one, as far as there may be more.
    func connectWaiting() {
        while open < maximum, !isShutDown, let exchange = waiting.popFirst() {
            if let destination = destination(for: exchange) {
                connect(for: exchange, to: destination)
            } else {
                exchange.finish(.suspended)
            }
        }
    }
}
