internal import GatewayCore
internal import NIOCore

/// What there is to be said of the connections to the backend at one moment.
public struct UpstreamStatistics: Sendable, Hashable {
    /// Connections that are there or are being made.
    public var open = 0
    /// Those of them that nothing is asked on.
    public var idle = 0
    /// Requests that wait for one.
    public var waiting = 0
    /// Connections that were made, by all that count by the same counters.
    public var connected: UInt64 = 0
    /// Connections that could not be made, likewise.
    public var failed: UInt64 = 0
    /// The addresses, in the order of the configuration.
    public var destinations: [Destination] = []

    /// One address of the backend.
    public struct Destination: Sendable, Hashable {
        /// As configurations write it.
        public var address: String
        /// Whether calls may go there, as far as every loop is concerned.
        public var isAvailable: Bool
    }

    mutating func add(_ other: UpstreamStatistics) {
        open += other.open
        idle += other.idle
        waiting += other.waiting
        if destinations.isEmpty {
            destinations = other.destinations
        } else {
            for (index, destination) in other.destinations.enumerated() where !destination.isAvailable {
                // Every loop has the same addresses.
                destinations[index].isAvailable = false
            }
        }
    }
}

extension Upstream {
    /// Asks every loop; returns when all have answered.
    public func reading() async -> UpstreamStatistics {
        await withTaskGroup { tasks in
            for loop in loops {
                let future = loop.eventLoop.submit { loop.value.reading }
                tasks.addTask { (try? await future.get()) ?? UpstreamStatistics() }
            }
            var reading = await tasks.reduce(into: UpstreamStatistics()) { $0.add($1) }
            (reading.connected, reading.failed) = (connects.made.value, connects.failed.value)
            return reading
        }
    }
}
