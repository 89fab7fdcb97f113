internal import GatewayCore

/// Decides whether the time of day is good enough to remove segments by their age. Belongs to the writer's thread.
///
/// A wrong clock makes every segment look old. So the clock is believed only after the gateway has run for a while by the
/// monotonic clock, in which nobody set the clock; and for much longer where the journal's last line and its newest file
/// are not of about the time at which the gateway started.
struct RetentionClock {
    /// The time of the journal's last line before the gateway started.
    private let lastLine: WallTime?
    /// When a segment was written to last before the gateway started.
    private let newestFile: WallTime?
    private var startTime: WallTime
    private var start: MonotonicInstant

    /// How long the gateway has run before the clock is believed, in microseconds.
    static let shortestRun: Int64 = 3600 * 1_000_000
    /// The same where the last line or the newest file is of another time.
    static let longestRun: Int64 = 24 * 3600 * 1_000_000
    /// How long a gateway is usually stopped at most, in microseconds.
    static let longestPause: Int64 = 48 * 3600 * 1_000_000
    /// By how much the two clocks may differ over a run before the time of day counts as set, in microseconds.
    static let tolerance: Int64 = 600 * 1_000_000

    init(lastLine: WallTime?, newestFile: WallTime?, startTime: WallTime, start: MonotonicInstant) {
        self.lastLine = lastLine
        self.newestFile = newestFile
        self.startTime = startTime
        self.start = start
    }

    /// What the clock is worth.
    enum Trust: Sendable, Hashable {
        case believed
        /// The gateway has not run for long enough.
        case tooEarly
        /// The journal speaks against the clock, as the sentence says, and the gateway has not run for long enough.
        case doubted(String)
    }

    /// Judges the time of day. To be asked from time to time: that is how it notices that the clock was set.
    mutating func trust(now time: WallTime, at instant: MonotonicInstant) -> Trust {
        let run = (instant.nanoseconds - start.nanoseconds) / 1000
        if Self.distance(time, startTime.adding(run)) > Self.tolerance {
            (startTime, start) = (time, instant)
            return .tooEarly
        }
        let evidence = [("last line", lastLine), ("newest file", newestFile)].compactMap { name, time in
            time.map { (name, $0) }
        }
        if let (name, other) = evidence.first(where: { Self.distance($0.1, startTime) > Self.longestPause }) {
            return run >= Self.longestRun
                ? .believed : .doubted("the gateway started at \(startTime), and the journal's \(name) is of \(other)")
        }
        return run >= Self.shortestRun ? .believed : .tooEarly
    }

    private static func distance(_ one: WallTime, _ other: WallTime) -> Int64 {
        let (distance, overflow) = one.microseconds.subtractingReportingOverflow(other.microseconds)
        return overflow || distance == .min ? .max : abs(distance)
    }
}

extension RetentionClock {
    /// Looks at the journal before it is written. The clock's run begins now.
    init(
        _ segments: [JournalSegmentName], in directory: String, files: any JournalFileSystem, clocks: Clocks
    ) throws(FileFailure) {
        var newest: WallTime?
        for name in segments {
            let time = try files.modified("\(directory)/\(name.text)")
            newest = max(newest ?? time, time)
        }
        var last: WallTime?
        if let name = segments.last {
            var lines = BackwardLines(
                try files.read("\(directory)/\(name.text)", last: JournalRecovery.longestTornTail))
            while last == nil, let line = lines.next() { last = JournalLineReader(bytes: line).time }
        }
        self.init(lastLine: last, newestFile: newest, startTime: clocks.wall(), start: clocks.monotonic())
    }
}
