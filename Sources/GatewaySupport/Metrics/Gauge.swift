internal import Synchronization

/// An integer that can be set to any value. Setting takes no lock, allocates nothing and is safe on any thread.
public final class Gauge: Sendable {
    private let level: Atomic<Int64>

    /// Creates a gauge.
    public init(_ value: Int64 = 0) { level = Atomic(value) }

    /// Sets the value.
    public func set(_ value: Int64) { level.store(value, ordering: .relaxed) }

    /// The current value.
    public var value: Int64 { level.load(ordering: .relaxed) }
}
