internal import Synchronization

/// Makes the ids of calls: without locks, and never one twice, because each maker counts in a lane of its own.
public struct CallIDs: Sendable {
    private static let process = UInt64.random(in: .min ... .max)
    private static let nextLane = Atomic<UInt64>(0)
    // 2^40 calls a lane, 2^24 lanes; a full lane is left for a new one.
    private static let laneBits: UInt64 = 40

    private var number = CallIDs.newLane()

    /// A maker in a lane that no other has.
    public init() {}

    /// The next id.
    public mutating func next() -> CallID {
        number &+= 1
        if number & ((1 << Self.laneBits) - 1) == 0 { number = Self.newLane() + 1 }
        return CallID(process: Self.process, number: number)
    }

    private static func newLane() -> UInt64 {
        nextLane.wrappingAdd(1, ordering: .relaxed).oldValue << laneBits
    }
}
