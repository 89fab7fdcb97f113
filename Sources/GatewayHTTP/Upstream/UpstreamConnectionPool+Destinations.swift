internal import Gateway
internal import NIOCore

// Selection of the destination of a request, and the state of the destinations.

extension UpstreamConnectionPool {
    /// Returns the available destination with the fewest busy connections that the request has not tried; nil if there
    /// is none.
    func destination(for exchange: PendingExchange) -> UpstreamDestination? {
        var best: UpstreamDestination?
        for offset in destinations.indices {
            let index = (turn + offset) % destinations.count
            let destination = destinations[index]
            guard destination.isAvailable, !exchange.tried.contains(ObjectIdentifier(destination)) else { continue }
            if best.map({ destination.busy < $0.busy }) ?? true { best = destination }
        }
        turn = (turn + 1) % destinations.count
        return best
    }

    /// Records that an address could not be reached or closed a new connection without a response.
    func recordFailure(of destination: UpstreamDestination) {
        destination.circuit.failed(now: eventLoop.now)
        guard !destination.circuit.isClosed else { return }
        scheduleHalfOpenProbe(of: destination)
        // Without an available destination, queued requests fail at once.
        guard !destinations.contains(where: \.isAvailable) else { return }
        while let exchange = waiting.popFirst() { exchange.finish(.circuitOpen) }
    }
}
