internal import NIOCore

/// The delay before the next connection attempt. It doubles with each failure, up to a bound.
struct Backoff: Sendable {
    /// The delay after the first failure.
    let shortest: TimeAmount
    /// The greatest delay.
    let longest: TimeAmount
    private var upcoming: TimeAmount

    init(shortest: TimeAmount = .milliseconds(100), longest: TimeAmount = .seconds(2)) {
        self.shortest = shortest
        self.longest = longest
        upcoming = shortest
    }

    /// Records a failure and returns the delay before the next attempt.
    mutating func next() -> TimeAmount {
        defer { upcoming = min(.nanoseconds(upcoming.nanoseconds * 2), longest) }
        return upcoming
    }

    /// Records a success.
    mutating func reset() { upcoming = shortest }
}
