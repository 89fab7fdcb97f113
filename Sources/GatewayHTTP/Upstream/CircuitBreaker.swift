internal import NIOCore

/// Whether an address of the backend is worth a connection: after some failures in a row it is left alone for a while, and then
/// tried by a connection that no call waits for. A value; its owner tells it the time.
struct CircuitBreaker {
    /// How many failures in a row open it.
    static let failures = 3
    /// How long it is open at first; twice as long after each trial that fails.
    static let shortest = TimeAmount.seconds(1)
    /// How long it is open at most.
    static let longest = TimeAmount.seconds(30)

    private enum State {
        case closed(failures: Int)
        case open(until: NIODeadline, wait: TimeAmount)
        case trying(wait: TimeAmount)
    }

    private var state = State.closed(failures: 0)

    /// Whether calls may go there.
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// When it is to be tried next; nil while it is closed or being tried.
    var retry: NIODeadline? { if case .open(let until, _) = state { until } else { nil } }

    /// A connection was made, or an answer came.
    mutating func succeeded() { state = .closed(failures: 0) }

    /// A connection could not be made, or a new one broke before an answer.
    mutating func failed(now: NIODeadline) {
        switch state {
        case .closed(let failures):
            state =
                failures + 1 < Self.failures
                ? .closed(failures: failures + 1) : .open(until: now + Self.shortest, wait: Self.shortest)
        case .trying(let wait):
            let longer = min(.nanoseconds(wait.nanoseconds * 2), Self.longest)
            state = .open(until: now + longer, wait: longer)
        case .open:
            // Of a connection that was begun before it opened.
            break
        }
    }

    /// It is tried now.
    mutating func beginHalfOpen() {
        if case .open(_, let wait) = state { state = .trying(wait: wait) }
    }
}
