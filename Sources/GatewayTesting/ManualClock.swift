public import GatewayCore
internal import Synchronization

/// Both clocks with their hands in the test's hand: time passes when the test says so, and not otherwise.
public final class ManualClock: Sendable {
    private struct Hands {
        var monotonic: Int64
        var wall: Int64
    }

    private let hands: Mutex<Hands>

    /// A clock that stands; by default some minutes after a start, in November 2026.
    public init(monotonic: Duration = .seconds(1000), wall: WallTime = WallTime(seconds: 1_795_000_000)) {
        hands = Mutex(Hands(monotonic: monotonic.nanoseconds, wall: wall.microseconds))
    }

    /// What code under test is given.
    public var clocks: Clocks {
        Clocks(
            monotonic: { MonotonicInstant(nanoseconds: self.hands.withLock(\.monotonic)) },
            wall: { WallTime(microseconds: self.hands.withLock(\.wall)) })
    }

    /// Moves both clocks forward.
    public func advance(by duration: Duration) {
        hands.withLock { hands in
            hands.monotonic += duration.nanoseconds
            hands.wall += duration.nanoseconds / 1000
        }
    }

    /// Sets the time of day, forward or back, as an administrator may; the monotonic clock does not notice.
    public func setWall(_ time: WallTime) {
        hands.withLock { $0.wall = time.microseconds }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
