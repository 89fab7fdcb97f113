internal import NIOCore
internal import Synchronization

/// One address of the backend as an event loop sees it: its kept connections, and whether it is worth another. Loop-bound.
final class UpstreamDestination {
    let address: UpstreamAddress
    /// What the checks say, the same for all loops.
    let health: DestinationHealth
    var circuit = CircuitBreaker()
    /// Connections without work, the most recently used last.
    var idle = CircularBuffer<UpstreamConnection>()
    /// Connections that are there or are being made.
    var open = 0
    /// For the next trial.
    var halfOpenProbe: Scheduled<Void>?

    init(_ address: UpstreamAddress, health: DestinationHealth) {
        self.address = address
        self.health = health
    }

    /// Whether calls may go there.
    var isAvailable: Bool { circuit.isClosed && health.isGood }

    /// Connections that have work.
    var busy: Int { open - idle.count }
}

@available(*, unavailable)
extension UpstreamDestination: Sendable {}

/// Whether the checks of an address find it well: asked by one event loop, known to all.
final class DestinationHealth: Sendable {
    private let good = Atomic(true)

    /// So until a check says otherwise.
    var isGood: Bool {
        get { good.load(ordering: .relaxed) }
        set { good.store(newValue, ordering: .relaxed) }
    }
}
