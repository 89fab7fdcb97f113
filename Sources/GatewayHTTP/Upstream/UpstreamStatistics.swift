internal import GatewayCore
public import GatewaySupport
internal import NIOCore

/// A snapshot of the connections to the backend.
public struct UpstreamStatistics: Sendable, Hashable {
    /// The number of connections that are open or being made.
    public var open = 0
    /// The number of idle connections.
    public var idle = 0
    /// The number of requests that wait for a connection.
    public var waiting = 0
    /// The number of connections established by all clients with the same counters.
    public var connected: UInt64 = 0
    /// The number of failed connection attempts of all clients with the same counters.
    public var failed: UInt64 = 0
    /// The addresses, in the order of the configuration.
    public var destinations: [Destination] = []

    /// The state of one address.
    public struct Destination: Sendable, Hashable {
        /// The address in the form of the configuration.
        public var address: String
        /// Whether the address is available on every event loop.
        public var isAvailable: Bool
    }

    /// Adds the statistics of connections to another backend. The counters of attempts are those of all backends.
    public mutating func append(_ other: UpstreamStatistics) {
        open += other.open
        idle += other.idle
        waiting += other.waiting
        destinations += other.destinations
        (connected, failed) = (other.connected, other.failed)
    }

    mutating func add(_ other: UpstreamStatistics) {
        open += other.open
        idle += other.idle
        waiting += other.waiting
        if destinations.isEmpty {
            destinations = other.destinations
        } else {
            for (index, destination) in other.destinations.enumerated() where !destination.isAvailable {
                // All loops have the same addresses in the same order.
                destinations[index].isAvailable = false
            }
        }
    }
}

extension Upstream {
    /// Returns the sum over all event loops.
    public func statistics() async -> UpstreamStatistics {
        await withTaskGroup { tasks in
            for pool in pools {
                let future = pool.eventLoop.submit { pool.value.statistics }
                tasks.addTask { (try? await future.get()) ?? UpstreamStatistics() }
            }
            var reading = await tasks.reduce(into: UpstreamStatistics()) { $0.add($1) }
            (reading.connected, reading.failed) = (connectCounters.made.value, connectCounters.failed.value)
            return reading
        }
    }
}

/// Counters of connection attempts to the backend. A reload passes them to the next `Upstream`, so that the metrics
/// stay monotonic. Any loop may use them without a lock.
public final class ConnectCounters: Sendable {
    /// The number of established connections.
    public let made = Counter()
    /// The number of failed connection attempts.
    public let failed = Counter()

    /// Creates counters that start at zero.
    public init() {}
}
