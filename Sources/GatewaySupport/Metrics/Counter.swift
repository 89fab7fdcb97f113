internal import Synchronization

/// A monotonically increasing counter. Adding takes no lock, allocates nothing and is safe on any thread.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    /// Creates a counter at zero.
    public init() {}

    /// Adds to the counter.
    public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// The current count.
    public var value: UInt64 { count.load(ordering: .relaxed) }
}
