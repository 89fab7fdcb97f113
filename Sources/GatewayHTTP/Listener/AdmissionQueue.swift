internal import NIOCore

/// The calls of a listener on one loop that came while there was no place for them, in the order in which they came: all were
/// taken, or those in flight on the loop are as many as it has time for (``AdaptiveConcurrencyLimit``).
///
/// To refuse a call costs a good part of what serving it would, most of it in the system's calls, and takes that from those that
/// could be served; to have it wait costs nothing. So calls wait their turn, a second at the most, which bounds how often a
/// connection can be refused. Where the first has waited for long, or in vain, the next would too, and it is refused at once;
/// where the queue moves, no more of them than take little of the loop's time. Loop-bound.
final class AdmissionQueue {
    /// A call that may have to wait. The connection keeps it to itself until one of these is called.
    struct Call {
        /// Whether the client is still there.
        let isAwaited: () -> Bool
        /// Begins the call; it has a place.
        let begin: () -> Void
        /// Answers that there is none.
        let reject: () -> Void
    }

    /// How long the first has waited when newcomers are refused.
    static let turnsAwayAfter: TimeAmount = .milliseconds(500)
    /// How many are refused for that within 50 ms.
    static let turnedAwayAtOnce = 100
    /// How long one waits at the most.
    static let longest: TimeAmount = .seconds(1)
    /// How many wait, each with its request.
    static let most = 8192
    private static let lookInterval: TimeAmount = .milliseconds(50)
    /// When to look whether the window has opened, where no call has ended.
    private static let windowInterval: TimeAmount = .milliseconds(1)

    private let places: InFlightLimit
    private let loop: any EventLoop
    private var window: AdaptiveConcurrencyLimit?
    private var looksAtWindow = false
    private var looks = false
    private var calls = CircularBuffer<(call: Call, since: NIODeadline)>()
    private var isBeginning = false
    private var isStuck = false
    private var turnedAway = 0

    /// Nobody waits. Where the loop's turns are not counted, there is no window.
    init(for places: InFlightLimit, on loop: any EventLoop, tick: EventLoopTick?) {
        self.places = places
        self.loop = loop
        window = tick.map(AdaptiveConcurrencyLimit.init)
    }

    /// How many wait.
    var count: Int { calls.count }
    /// How many have a place.
    private(set) var inFlight = 0

    /// Gives a call a place at once, if there is one and nobody waits for it.
    func admit() -> Bool {
        window?.callHasCome()
        return calls.isEmpty && windowIsOpen && takePlace()
    }

    /// Whether calls have taken every place that is not kept for those that need no backend.
    var hasNoPlace: Bool { places.inFlight >= places.most }

    /// Gives a call that needs no backend one of the places that are kept for such calls.
    func admitToReserve() -> Bool {
        guard places.admitToReserve() else { return false }
        inFlight += 1
        return true
    }

    /// A call has left its place.
    func leave() {
        inFlight -= 1
        window?.callHasEnded()
        places.leave()
    }

    /// Has a call wait that was not admitted, or refuses it.
    func enqueue(_ call: Call) {
        let now = loop.now
        if isStuck || calls.count >= Self.most { return reject(call, now) }
        if let first = calls.first, now - first.since >= Self.turnsAwayAfter, turnedAway < Self.turnedAwayAtOnce {
            turnedAway += 1
            return reject(call, now)
        }
        calls.append((call, now))
        if !looks { lookLater() }
        if !windowIsOpen { lookAtWindowLater() }
    }

    /// Gives the places that there are to those that wait; to be asked when a call has left one.
    func beginNext() {
        isStuck = false
        beginWaiting()
    }

    private func beginWaiting() {
        // A call may have ended before `begin` returns, so this is a loop and not a recursion.
        guard !calls.isEmpty, !isBeginning else { return }
        isBeginning = true
        defer { isBeginning = false }
        while let (call, _) = calls.first {
            if call.isAwaited() {
                guard windowIsOpen else { return lookAtWindowLater() }
                guard takePlace() else { return }
                calls.removeFirst()
                call.begin()
            } else {
                calls.removeFirst()
                call.reject()
            }
        }
    }

    private func reject(_ call: Call, _ now: NIODeadline) {
        places.recordRejection(now)
        call.reject()
    }

    private func takePlace() -> Bool {
        guard places.admit() else { return false }
        inFlight += 1
        return true
    }

    private var windowIsOpen: Bool {
        window?.isOpen(inFlight: inFlight, isWanted: !calls.isEmpty, most: places.most) ?? true
    }

    private func lookAtWindowLater() {
        guard !looksAtWindow else { return }
        looksAtWindow = true
        loop.assumeIsolated().scheduleTask(in: Self.windowInterval) {
            self.looksAtWindow = false
            self.beginWaiting()
        }
    }

    // Places that calls on other loops have left are found here, and that nothing moves.
    private func lookLater() {
        looks = true
        loop.assumeIsolated().scheduleTask(in: Self.lookInterval) {
            self.turnedAway = 0
            self.beginNext()
            let now = self.loop.now
            while let (call, since) = self.calls.first, now - since >= Self.longest {
                self.calls.removeFirst()
                self.isStuck = true
                self.reject(call, now)
            }
            // Only here: what begins or is refused above may bring the next request of its connection.
            self.looks = false
            if !self.calls.isEmpty { self.lookLater() }
        }
    }
}

@available(*, unavailable)
extension AdmissionQueue: Sendable {}
