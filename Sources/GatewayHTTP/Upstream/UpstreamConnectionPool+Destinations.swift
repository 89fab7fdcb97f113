internal import Gateway
internal import NIOCore

// To which address a request goes, and what is thought of the addresses.

extension UpstreamConnectionPool {
    /// The one with the least to do of those that are worth it and that the request has not tried; nil where there is none.
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

    /// Takes into account that an address could not be reached, or did not answer.
    func note(failureOf destination: UpstreamDestination) {
        destination.circuit.failed(now: eventLoop.now)
        guard !destination.circuit.isClosed else { return }
        scheduleHalfOpenProbe(of: destination)
        // Who waits for a connection shall not wait for what is left alone.
        guard !destinations.contains(where: \.isAvailable) else { return }
        while let exchange = waiting.popFirst() { exchange.finish(.suspended) }
    }
}
