internal import Gateway
internal import NIOCore

// Removal of connections, and shutdown of the pool.

extension UpstreamConnectionPool {
    /// Closes all connections at once and fails all queued requests. The future succeeds when no connection is left.
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

    /// Removes a connection from the pool, if it is in the pool. The caller closes the connection.
    func removeFromPool(_ connection: UpstreamConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        connection.isRetired = true
        connection.destination.idle.removeAll { $0 === connection }
        countOut(connection.destination)
    }

    /// Counts out a connection that is closed or was never established.
    func countOut(_ destination: UpstreamDestination) {
        open -= 1
        destination.open -= 1
        if open == 0 { emptied?.succeed() }
    }
}
