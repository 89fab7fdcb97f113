internal import NIOCore
internal import Synchronization

/// One backend address in the pool of one event loop: its idle connections and its circuit breaker. Loop-bound.
final class UpstreamDestination {
    let address: UpstreamAddress
    /// The result of the health checks, shared by all loops.
    let health: DestinationHealth
    var circuit = CircuitBreaker()
    /// The idle connections, the most recently used last.
    var idle = CircularBuffer<UpstreamConnection>()
    /// The number of connections that are open or being made.
    var open = 0
    /// The scheduled probe of an open circuit.
    var halfOpenProbe: Scheduled<Void>?

    init(_ address: UpstreamAddress, health: DestinationHealth) {
        self.address = address
        self.health = health
    }

    /// Whether calls may use the address.
    var isAvailable: Bool { circuit.isClosed && health.isGood }

    /// The number of connections that are not idle.
    var busy: Int { open - idle.count }
}

@available(*, unavailable)
extension UpstreamDestination: Sendable {}

/// The health of one address. One event loop writes it and all loops read it.
final class DestinationHealth: Sendable {
    private let good = Atomic(true)

    /// Whether the last health check succeeded; true before the first one.
    var isGood: Bool {
        get { good.load(ordering: .relaxed) }
        set { good.store(newValue, ordering: .relaxed) }
    }
}
