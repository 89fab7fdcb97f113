internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A monotonic clock and a wall clock that move only when the test moves them.
public final class ManualClock: Sendable {
    private struct Hands {
        var monotonic: Int64
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
            wall: { WallTime(microseconds: self.hands.withLock(\.wall)) })
    }

    /// Moves both clocks forward.
    public func advance(by duration: Duration) {
        hands.withLock { hands in
            hands.monotonic += duration.nanoseconds
            hands.wall += duration.nanoseconds / 1000
        }
    }

    /// Sets the wall clock forward or back, as an administrator may. The monotonic clock is unaffected.
    public func setWall(_ time: WallTime) {
        hands.withLock { $0.wall = time.microseconds }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
