internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// Clocks that move only when the test moves them.
public final class ManualClock: Sendable {
    private struct Hands {
        var monotonic: Int64
        var suspended: Int64 = 0
        var wall: Int64
    }

    private let hands: Mutex<Hands>

    /// Creates a stopped clock. By default it stands some minutes after a start, in November 2026.
    public init(monotonic: Duration = .seconds(1000), wall: WallTime = WallTime(seconds: 1_795_000_000)) {
        hands = Mutex(Hands(monotonic: monotonic.nanoseconds, wall: wall.microseconds))
    }

    /// The clocks for the code under test.
    public var clocks: Clocks {
        Clocks(
            monotonic: { MonotonicInstant(nanoseconds: self.hands.withLock(\.monotonic)) },
            wall: { WallTime(microseconds: self.hands.withLock(\.wall)) },
            sinceBoot: { MonotonicInstant(nanoseconds: self.hands.withLock { $0.monotonic + $0.suspended }) })
    }

    /// Moves all clocks forward.
    public func advance(by duration: Duration) {
        hands.withLock { hands in
            hands.monotonic += duration.nanoseconds
            hands.wall += duration.nanoseconds / 1000
        }
    }

    /// Moves the clocks forward as the suspend of a machine does: the monotonic clock stands still.
    public func suspend(for duration: Duration) {
        hands.withLock { hands in
            hands.suspended += duration.nanoseconds
            hands.wall += duration.nanoseconds / 1000
        }
    }

    /// Sets the wall clock forward or back, as an administrator may. The other clocks are unaffected.
    public func setWall(_ time: WallTime) {
        hands.withLock { $0.wall = time.microseconds }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
