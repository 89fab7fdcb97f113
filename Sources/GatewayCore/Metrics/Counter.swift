internal import Synchronization

/// A number that only grows. Adding takes no lock and no memory, from any thread.
public final class Counter: Sendable {
    private let count = Atomic<UInt64>(0)

    /// Nothing counted yet.
    public init() {}

    /// Counts.
    public func add(_ amount: UInt64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }

    /// What was counted so far.
    public var value: UInt64 { count.load(ordering: .relaxed) }
}
