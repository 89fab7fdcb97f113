internal import Synchronization

/// A whole number that is set again and again. Setting takes no lock and no memory, from any thread.
public final class Gauge: Sendable {
    private let level: Atomic<Int64>

    /// A gauge with a first value.
    public init(_ value: Int64 = 0) { level = Atomic(value) }

    /// Sets the value.
    public func set(_ value: Int64) { level.store(value, ordering: .relaxed) }

    /// The value that was set last.
    public var value: Int64 { level.load(ordering: .relaxed) }
}
