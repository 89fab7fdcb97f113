internal import GatewayCore
internal import GatewaySupport

/// Decides whether the wall clock is reliable enough to remove segments by age. Confined to the writer's thread.
///
/// With a wrong clock every segment may look old. The clock is therefore trusted only after the gateway has run for
/// ``minimumRun`` without a change of the wall clock. The gateway must have run for ``runAfterContradiction`` if the
/// time of the journal's last line or newest file differs from the start time by more than ``maximumStop``.
struct RetentionClock {
    /// The time of the last line that an earlier process wrote.
    private let lastLine: WallTime?
    /// The latest modification time of the segments at startup.
    private let newestFile: WallTime?
    private var startTime: WallTime
    private var start: MonotonicInstant

    /// The time after which the clock is trusted, in microseconds.
    static let minimumRun: Int64 = 3600 * 1_000_000
    /// The time after which the clock is trusted if the last line or the newest file contradicts it, in microseconds.
    static let runAfterContradiction: Int64 = 24 * 3600 * 1_000_000
    /// The longest time for which a gateway is usually stopped, in microseconds.
    static let maximumStop: Int64 = 48 * 3600 * 1_000_000
    /// The difference between the wall clock and the monotonic clock that shows that the wall clock was set, in
    /// microseconds.
    static let tolerance: Int64 = 600 * 1_000_000

    init(lastLine: WallTime?, newestFile: WallTime?, startTime: WallTime, start: MonotonicInstant) {
        self.lastLine = lastLine
        self.newestFile = newestFile
        self.startTime = startTime
        self.start = start
    }

    /// The reliability of the wall clock.
    enum Trust: Sendable, Hashable {
        case trusted
        /// The gateway has not run long enough.
        case tooEarly
        /// The journal contradicts the clock, for the given reason, and the gateway has not run long enough.
        case distrusted(String)
    }

    /// Returns the reliability of the wall clock. Must be called regularly, because each call checks whether the wall
    /// clock was set. If it was, the run starts again.
    mutating func trust(now time: WallTime, at instant: MonotonicInstant) -> Trust {
        let run = (instant.nanoseconds - start.nanoseconds) / 1000
        if Self.distance(time, startTime.adding(run)) > Self.tolerance {
            (startTime, start) = (time, instant)
            return .tooEarly
        }
        let evidence = [("last line", lastLine), ("newest file", newestFile)].compactMap { name, time in
            time.map { (name, $0) }
        }
        if let (name, other) = evidence.first(where: { Self.distance($0.1, startTime) > Self.maximumStop }) {
            return run >= Self.runAfterContradiction
                ? .trusted
                : .distrusted("the gateway started at \(startTime), but the journal's \(name) dates from \(other)")
        }
        return run >= Self.minimumRun ? .trusted : .tooEarly
    }

    private static func distance(_ one: WallTime, _ other: WallTime) -> Int64 {
        let (distance, overflow) = one.microseconds.subtractingReportingOverflow(other.microseconds)
        return overflow || distance == .min ? .max : abs(distance)
    }
}

extension RetentionClock {
    /// Reads the times of the last line and of the segments. The run starts now.
    init(
        _ segments: [JournalSegmentName], in directory: String, files: any JournalFileSystem, clocks: Clocks
    ) throws(FileFailure) {
        var newest: WallTime?
        for name in segments {
            let time = try files.modificationTime(of: "\(directory)/\(name.text)")
            newest = max(newest ?? time, time)
        }
        var last: WallTime?
        if let name = segments.last {
            var lines = BackwardLines(
                try files.read("\(directory)/\(name.text)", last: JournalRecovery.maximumTornBytes))
            while last == nil, let line = lines.next() { last = JournalLineReader(bytes: line).time }
        }
        self.init(lastLine: last, newestFile: newest, startTime: clocks.wall(), start: clocks.monotonic())
    }
}
