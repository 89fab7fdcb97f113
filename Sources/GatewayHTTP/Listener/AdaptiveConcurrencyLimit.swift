internal import NIOCore

/// An adaptive limit on the calls in flight of one event loop, which keeps the loop's ticks short. Loop-bound.
///
/// Under overload, each call in flight adds work to each tick. If calls occupied all places of ``InFlightLimit``, a
/// tick would last some hundredths of a second, every socket would wait that long, and the data of the calls would no
/// longer fit into the CPU cache. The limit therefore decreases if calls make the ticks long. It increases if further
/// calls wait for admission while the ticks are short, or while the calls in flight wait for the backend or the disk.
/// In the latter case few calls complete in a tick, or the loop waits longer than it works.
struct AdaptiveConcurrencyLimit {
    /// The initial limit.
    static let initial = 64
    /// The minimum limit. A tick that completes fewer calls than this does not decrease the limit.
    static let minimum = 16
    /// The working time above which a tick counts as long.
    static let longTickThreshold: TimeAmount = .milliseconds(1)

    /// The current limit.
    private(set) var size = Self.initial
    private let tick: EventLoopTick
    private var ticksSeen: UInt64
    private var completedInTick = 0
    // A call needs several ticks, and calls in one batch of the journal complete together. Maxima therefore decay
    // slowly.
    private var longest = TimeAmount.zero
    private var maximumCompleted = 0

    /// Creates a limit of `initial`.
    ///
    /// - Parameter tick: The tick counter of the loop.
    init(tick: EventLoopTick) {
        self.tick = tick
        ticksSeen = tick.completed
    }

    /// Records that a call has arrived from a socket.
    func recordArrival() { tick.recordWork() }

    /// Records that an admitted call has completed.
    mutating func recordCompletion() { completedInTick += 1 }

    /// Returns whether one more call may start. Adapts the limit once for each completed tick.
    ///
    /// - Parameters:
    ///   - inFlight: The number of calls in flight on the loop.
    ///   - isWanted: Whether a call waits for admission. Otherwise the limit does not increase.
    ///   - maximum: The value up to which the limit may increase.
    mutating func isOpen(inFlight: Int, isWanted: Bool, maximum: Int) -> Bool {
        if tick.completed != ticksSeen {
            adapt(to: tick.last, isWanted: isWanted, maximum: maximum)
            (ticksSeen, completedInTick) = (tick.completed, 0)
        }
        return inFlight < size
    }

    private mutating func adapt(to last: EventLoopTick.Times, isWanted: Bool, maximum: Int) {
        longest = max(last.work, longest - .nanoseconds(longest.nanoseconds / 4))
        maximumCompleted = max(completedInTick, maximumCompleted - maximumCompleted / 4)
        if longest <= Self.longTickThreshold || last.work < last.wait || maximumCompleted < Self.minimum {
            // The limit grows slowly, so that calls that waited briefly do not start as a burst.
            if isWanted { size = min(maximum, size + max(1, size / 32)) }
        } else if last.work > last.wait * 2, completedInTick >= Self.minimum {
            size = max(Self.minimum, size - size / 8)
        }
    }
}
