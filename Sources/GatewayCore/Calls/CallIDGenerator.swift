internal import Synchronization

/// A lock-free generator of call ids. Each generator counts in a number range (lane) of its own, so that ids are unique
/// within the process.
public struct CallIDGenerator: Sendable {
    private static let process = UInt64.random(in: .min ... .max)
    private static let nextLane = Atomic<UInt64>(0)
    // 2^40 ids a lane, 2^24 lanes. A generator that has used up its lane moves to a new one.
    private static let laneBits: UInt64 = 40

    private var number = CallIDGenerator.newLane()

    /// Creates a generator with a lane of its own.
    public init() {}

    /// Returns the next id.
    public mutating func next() -> CallID {
        number &+= 1
        if number & ((1 << Self.laneBits) - 1) == 0 { number = Self.newLane() + 1 }
        return CallID(process: Self.process, number: number)
    }

    private static func newLane() -> UInt64 {
        nextLane.wrappingAdd(1, ordering: .relaxed).oldValue << laneBits
    }
}
