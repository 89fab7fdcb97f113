internal import Gateway
internal import NIOCore

// How connections leave the pool, and how the pool ends.

extension UpstreamConnectionPool {
    /// Closes everything, at once; the future succeeds when nothing is left.
    func shutDown() -> EventLoopFuture<Void> {
        let promise = emptied ?? eventLoop.makePromise(of: Void.self)
        emptied = promise
        isShutDown = true
        idleTimer.stop()
        waitTimer.stop()
        for check in checks { check.cancel() }
        checks = []
        for destination in destinations { destination.halfOpenProbe?.cancel() }
        while let exchange = waiting.popFirst() { exchange.finish(.unreachable("the gateway is stopping")) }
        for connection in Array(connections.values) { connection.close() }
        if open == 0 { promise.succeed() }
        return promise.futureResult
    }

    /// Takes a connection out of the pool, if it is in it; it is closed elsewhere.
    func forget(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.isRetired = true
        connection.destination.idle.removeAll { $0 === connection }
        leave(connection.destination)
    }

    /// A connection is gone, or was never made.
    func leave(_ destination: UpstreamDestination) {
        open -= 1
        destination.open -= 1
        if open == 0 { emptied?.succeed() }
    }
}
