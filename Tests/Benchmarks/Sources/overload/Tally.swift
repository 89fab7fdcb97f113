import BenchmarkSupport

/// The results of the calls that were due in one part of the plan.
struct Tally {
    /// The number of due calls.
    var offered = 0
    /// Calls that received 200 in time.
    var carried = 0
    /// Calls that received 200 after the client's time limit.
    var tooLate = 0
    /// Calls that received 503 or 429.
    var rejected = 0
    /// Calls that received another status or no response.
    var failed = 0
    /// Calls that were not sent, because all clients waited for responses.
    var leftOut = 0
    /// The times from the due time of calls to their 200.
    var latencies = Distribution()
    /// The times from the due time of calls to their rejection.
    var rejections = Distribution()
    /// The delays of the sender itself.
    var lateness = Distribution()
    /// The tenths of a second with a due call that did not receive a fast 200.
    private var badTenths: Set<Int64> = []
    private static let tenth: Int64 = 100_000_000

    /// Records the result of a call.
    ///
    /// - Parameters:
    ///   - due: its due time in `nanoseconds` after the plan's start.
    ///   - latency: the time from the due time to its end.
    mutating func add(status: Int, due: Int64, latency: Int64, maximumWait: Int64, prompt: Int64) {
        switch status {
        case 200 where latency <= maximumWait:
            carried += 1
            latencies.add(latency)
        case 200:
            tooLate += 1
            latencies.add(latency)
        case 503, 429:
            rejected += 1
            rejections.add(latency)
        default:
            failed += 1
        }
        if status != 200 || latency > prompt { badTenths.insert(due / Self.tenth) }
    }

    /// Records a call that was not sent.
    mutating func leaveOut(due: Int64) {
        leftOut += 1
        badTenths.insert(due / Self.tenth)
    }

    /// Returns the seconds from `start`, to a tenth, until the first second in which all calls received a fast 200, or
    /// nil if there is none before `end`. Both are in nanoseconds after the plan's start.
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
