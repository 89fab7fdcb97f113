internal import NIOCore

/// A circuit breaker for one backend address. The caller provides the time.
///
/// - `closed`: Calls may use the address. The third consecutive failure opens the circuit; a success resets the count.
/// - `open`: Calls avoid the address. At the time `retry` the owner starts a probe (`beginHalfOpen`).
/// - `halfOpen`: One probe connection is in progress. Success closes the circuit; a failure opens it for twice as long.
///
/// A success closes the circuit from any state.
struct CircuitBreaker {
    /// The number of consecutive failures that opens the circuit.
    static let failureThreshold = 3
    /// The initial open time. It doubles after each failed probe.
    static let initialOpenTime = TimeAmount.seconds(1)
    /// The maximum open time.
    static let maximumOpenTime = TimeAmount.seconds(30)

    private enum State {
        case closed(failures: Int)
        case open(until: NIODeadline, wait: TimeAmount)
        case halfOpen(wait: TimeAmount)
    }

    private var state = State.closed(failures: 0)

    /// Whether calls may use the address.
    var isClosed: Bool { if case .closed = state { true } else { false } }

    /// The time of the next probe; nil in the states `closed` and `halfOpen`.
    var retry: NIODeadline? { if case .open(let until, _) = state { until } else { nil } }

    /// Records a successful connection or a response.
    mutating func succeeded() { state = .closed(failures: 0) }

    /// Records a connection attempt that failed, or a new connection that broke before its first response.
    mutating func failed(now: NIODeadline) {
        switch state {
        case .closed(let failures):
            state =
                failures + 1 < Self.failureThreshold
                ? .closed(failures: failures + 1) : .open(until: now + Self.initialOpenTime, wait: Self.initialOpenTime)
        case .halfOpen(let wait):
            let longer = min(.nanoseconds(wait.nanoseconds * 2), Self.maximumOpenTime)
            state = .open(until: now + longer, wait: longer)
        case .open:
            // The connection was started before the circuit opened.
            break
        }
    }

    /// Records the start of a probe connection.
    mutating func beginHalfOpen() {
        if case .open(_, let wait) = state { state = .halfOpen(wait: wait) }
    }
}
