/// A counter of user revocations. An operation that began at one epoch and completes at a later one may have to be
/// undone.
public struct RevocationEpoch: Sendable, Hashable, Comparable {
    /// The number of user revocations since the start.
    public let count: UInt64

    /// Creates an epoch. Called by stores.
    public init(count: UInt64) { self.count = count }

    /// Returns whether the left epoch is earlier.
    public static func < (left: RevocationEpoch, right: RevocationEpoch) -> Bool { left.count < right.count }
}
