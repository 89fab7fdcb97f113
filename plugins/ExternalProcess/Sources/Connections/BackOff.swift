internal import NIOCore

/// How long to wait before the next connection is tried: twice as long after each failure, up to a bound.
struct BackOff: Sendable {
    /// After the first failure.
    let shortest: TimeAmount
    /// However many failures there were.
    let longest: TimeAmount
    private var upcoming: TimeAmount

    init(shortest: TimeAmount = .milliseconds(100), longest: TimeAmount = .seconds(2)) {
        self.shortest = shortest
        self.longest = longest
        upcoming = shortest
    }

    /// One more failure: how long to wait.
    mutating func next() -> TimeAmount {
        defer { upcoming = min(.nanoseconds(upcoming.nanoseconds * 2), longest) }
        return upcoming
    }

    /// It works again.
    mutating func reset() { upcoming = shortest }
}
