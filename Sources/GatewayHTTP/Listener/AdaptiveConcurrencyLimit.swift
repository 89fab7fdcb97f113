internal import NIOCore

/// How many calls a loop has in flight at a time, so that its turns stay short. Loop-bound.
///
/// Where clients ask for more than the loop has time for, each call in flight has something to do in each turn, and with all places
/// taken a turn is some hundredths of a second: as long waits whatever comes to a socket, and what so many calls need no longer
/// fits a cache. So turns that are long, and are so for their calls, close the window. Where calls wait for the backend or for
/// the disk it opens as far as it is asked to: few of them end in a turn, or the loop waits for longer than it works.
struct AdaptiveConcurrencyLimit {
    /// Where it begins.
    static let first = 64
    /// It is never smaller, and a turn in which fewer calls ended is not long for their sake.
    static let smallest = 16
    /// A turn that works for longer is a long one.
    static let longTick: TimeAmount = .milliseconds(1)

    /// How many calls fit in.
    private(set) var size = Self.first
    private let tick: EventLoopTick
    private var ticksSeen: UInt64
    private var endedInTurn = 0
    // Calls move in several turns each, those that wait for one batch of the journal together: what was most counts for some more.
    private var longest = TimeAmount.zero
    private var maximumEnded = 0

    /// That of the loop whose turns these are.
    init(tick: EventLoopTick) {
        self.tick = tick
        ticksSeen = tick.ended
    }

    /// A call has come, from a socket.
    func callHasCome() { tick.workBegins() }

    /// A call that was in has ended.
    mutating func callHasEnded() { endedInTurn += 1 }

    /// Whether one more fits in. Adapts the size, where a turn has ended since it was asked last.
    ///
    /// - Parameters:
    ///   - inFlight: how many are in.
    ///   - isWanted: whether a call waits that does not fit in.
    ///   - most: how large the window may become.
    mutating func isOpen(inFlight: Int, isWanted: Bool, most: Int) -> Bool {
        if tick.ended != ticksSeen {
            adapt(to: tick.last, isWanted: isWanted, most: most)
            (ticksSeen, endedInTurn) = (tick.ended, 0)
        }
        return inFlight < size
    }

    private mutating func adapt(to last: EventLoopTick.Times, isWanted: Bool, most: Int) {
        longest = max(last.work, longest - .nanoseconds(longest.nanoseconds / 4))
        maximumEnded = max(endedInTurn, maximumEnded - maximumEnded / 4)
        if longest <= Self.longTick || last.work < last.wait || maximumEnded < Self.smallest {
            // Slowly, so that what a moment's wait lets in is no burst.
            if isWanted { size = min(most, size + max(1, size / 32)) }
        } else if last.work > last.wait * 2, endedInTurn >= Self.smallest {
            size = max(Self.smallest, size - size / 8)
        }
    }
}
