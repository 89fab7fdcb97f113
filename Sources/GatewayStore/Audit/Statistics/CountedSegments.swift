internal import GatewaySupport

/// The lines of the journal that are counted, by segment.
///
/// The segment in use is counted while it grows, closed ones afterwards, newest first. Each line counts once, because a
/// segment is counted in the order of the lines' numbers, from the number after the last counted one.
struct CountedSegments {
    /// The position within a segment.
    struct Position: Sendable, Hashable {
        /// The number of the next line to count.
        var next: UInt64 = 0
        /// The number of the segment's rows before that line.
        var rows = 0
        /// The earliest time of a counted line; nil before the first one.
        var earliest: Int64?
    }

    /// The numbers of the first lines of the segments that exist, in ascending order.
    private(set) var listed: [UInt64] = []
    private var positions: [UInt64: Position] = [:]
    private var complete: Set<UInt64> = []
    /// The latest times of closed segments, as far as they are known.
    private var latest: [UInt64: Int64] = [:]

    /// Sets the existing segments. Forgets removed ones.
    mutating func update(_ segments: [UInt64]) {
        guard segments != listed else { return }
        listed = segments
        let present = Set(segments)
        complete.formIntersection(present)
        positions = positions.filter { present.contains($0.key) }
        latest = latest.filter { present.contains($0.key) }
    }

    func position(in segment: UInt64) -> Position { positions[segment] ?? Position() }

    func isComplete(_ segment: UInt64) -> Bool { complete.contains(segment) }

    /// Adds counted lines of a segment.
    mutating func advance(_ segment: UInt64, to position: Position) {
        // Retention may have removed the segment meanwhile.
        guard listed.contains(segment) else { return }
        positions[segment] = position
    }

    /// Declares that all lines of a closed segment are counted.
    mutating func complete(_ segment: UInt64) {
        guard listed.contains(segment) else { return }
        complete.insert(segment)
    }

    /// Sets the latest time of a closed segment's lines.
    mutating func setLatest(_ time: Int64, of segment: UInt64) {
        guard listed.contains(segment) else { return }
        latest[segment] = time
    }

    /// Whether the latest time of a closed segment's lines is known.
    func hasLatest(of segment: UInt64) -> Bool { latest[segment] != nil }

    /// Returns whether no line of the time or later is in a segment that is not counted completely, apart from the one in
    /// use. After the clock was set back, an earlier segment may have later lines.
    func hasAll(since: Int64) -> Bool {
        listed.dropLast().allSatisfy { segment in
            complete.contains(segment) || latest[segment].map { $0 < since } ?? false
        }
    }

    /// Whether all closed segments are counted.
    var hasAllClosed: Bool { listed.dropLast().allSatisfy(complete.contains) }

    /// The time of the oldest line that the journal has; nil if it is not known yet.
    var oldest: Int64? { hasAllClosed ? listed.lazy.compactMap { positions[$0]?.earliest }.min() : nil }

    /// The time from which all lines are counted: the earliest line of the segments from the newest one back to the first
    /// that is not counted completely; nil if none is counted.
    var countedFrom: Int64? {
        var earliest = listed.last.flatMap { positions[$0]?.earliest }
        for segment in listed.dropLast().reversed() {
            guard complete.contains(segment) else { break }
            if let time = positions[segment]?.earliest { earliest = min(earliest ?? time, time) }
        }
        return earliest
    }
}
