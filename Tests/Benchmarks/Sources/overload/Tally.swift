import BenchmarkSupport

/// What became of the calls that were due in one part of the plan.
struct Tally {
    /// How many were due.
    var offered = 0
    /// Answered 200 in time.
    var carried = 0
    /// Answered 200 when the client had stopped waiting.
    var tooLate = 0
    /// Answered 503 or 429.
    var refused = 0
    /// Answered otherwise, or not at all.
    var failed = 0
    /// Not sent, since all clients waited for answers.
    var leftOut = 0
    /// From when a call was due to its 200.
    var latencies = Distribution()
    /// From when a call was due to its refusal.
    var rejections = Distribution()
    /// How late the sender itself was.
    var lateness = Distribution()
    /// The tenths of a second in which a call was due that was not answered 200 at once.
    private var badTenths: Set<Int64> = []
    private static let tenth: Int64 = 100_000_000

    /// Takes a call's end into account.
    ///
    /// - Parameters:
    ///   - due: when it was to be sent, as `nanoseconds` after the plan's start.
    ///   - latency: how long after that it ended.
    mutating func add(status: Int, due: Int64, latency: Int64, patience: Int64, prompt: Int64) {
        switch status {
        case 200 where latency <= patience:
            carried += 1
            latencies.add(latency)
        case 200:
            tooLate += 1
            latencies.add(latency)
        case 503, 429:
            refused += 1
            rejections.add(latency)
        default:
            failed += 1
        }
        if status != 200 || latency > prompt { badTenths.insert(due / Self.tenth) }
    }

    /// Takes a call that was never sent into account.
    mutating func leaveOut(due: Int64) {
        leftOut += 1
        badTenths.insert(due / Self.tenth)
    }

    /// How long after the start, to the tenth of a second, one began in which all calls were answered 200 at once; nil where there is
    /// none up to the end. Both in nanoseconds after the plan's start.
    func firstGoodSecond(from start: Int64, to end: Int64) -> Double? {
        var tenth = start / Self.tenth
        while (tenth + 10) * Self.tenth <= end {
            guard let bad = (tenth..<tenth + 10).last(where: badTenths.contains) else {
                return Double(tenth * Self.tenth - start) / 1e9
            }
            tenth = bad + 1
        }
        return nil
    }
}
