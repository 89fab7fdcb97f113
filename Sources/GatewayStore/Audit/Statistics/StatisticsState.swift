internal import GatewaySupport

/// The counts of ``JournalStatistics``, and what of the journal they count.
struct StatisticsState {
    var minutes = MinuteTable()
    var pairs: PairTable
    var segments = CountedSegments()
    /// The classes and names of the segment in use.
    var live = SegmentVocabulary()
    /// The number of the first line of the segment that ``live`` describes.
    var liveSegment: UInt64?
    /// The time up to which all lines are counted, apart from closed segments that are not counted yet; nil at first.
    var countedUntil: Int64?
    var nextNumber: UInt64 = 0

    /// Increases with each new count.
    let epoch: Int
    /// The clocks when counting began.
    private let began: ComparedTime
    /// The retention that the pairs must have; theirs is older until ``JournalStatistics/maintain(whileCopied:)`` ran.
    private var wantedRetention: PairRetention
    /// Whether ``pairs`` must not change, because a copy of them is maintained.
    private(set) var isCopied = false

    /// Creates the counts of nothing.
    ///
    /// - Parameter epoch: The number of counts that were discarded before.
    init(limits: PairTable.Limits, began: ComparedTime, epoch: Int = 0) {
        (self.began, self.epoch) = (began, epoch)
        wantedRetention = PairRetention(now: began.time)
        pairs = PairTable(limits: limits, retention: wantedRetention)
    }

    /// Returns whether the wall clock has been set since counting began. Lines that were ignored because of their time may
    /// count then, and others not.
    func isOutdated(at now: ComparedTime) -> Bool { now.isStep(from: began) }

    /// Sets the existing segments.
    mutating func begin(_ segments: [UInt64], now: Int64) {
        self.segments.update(segments)
        wantedRetention = PairRetention(now: now, oldest: self.segments.oldest ?? .min)
    }

    /// Whether ``JournalStatistics/maintain(whileCopied:)`` has something to do.
    var needsMaintenance: Bool { !isCopied && (!pairs.hasRoom || pairs.retention != wantedRetention) }

    /// Returns a copy of the pairs and the retention to which it is maintained; nil if there is nothing to do. The pairs
    /// do not change until ``endMaintenance()``.
    mutating func beginMaintenance() -> (pairs: PairTable, retention: PairRetention, epoch: Int)? {
        guard needsMaintenance else { return nil }
        isCopied = true
        return (pairs, wantedRetention, epoch)
    }

    /// Exchanges the pairs for the maintained copy.
    mutating func exchangePairs(_ maintained: inout PairTable) { swap(&pairs, &maintained) }

    /// Lets the pairs change again.
    mutating func endMaintenance() { isCopied = false }

    /// Counts one line. The pairs have room and are not copied.
    ///
    /// - Parameters:
    ///   - sender: The number of the sender in the vocabulary.
    ///   - recipient: The number of the recipient in the vocabulary.
    ///   - text: Returns the text of a name of the vocabulary.
    mutating func count(
        _ line: CountedLine, at time: Int64, from sender: UInt32, to recipient: UInt32,
        _ vocabulary: inout SegmentVocabulary, now: Int64, text: (UInt32) -> ArraySlice<UInt8>
    ) {
        if case .ignored = line { return }
        minutes.add(line, at: time, now: now)
        // A rejection of an unknown caller has no pair.
        guard case .send(let word, let count, _) = line, sender != SegmentIndex.none, pairs.keeps(time) else { return }
        vocabulary.renew(generation: pairs.generation)
        pairs.add(
            word, count, from: vocabulary.number(of: sender, in: &pairs.names, text),
            to: vocabulary.number(of: recipient, in: &pairs.names, text), at: time)
    }

    /// Returns the coverage of a range that starts at the time. It is incomplete while the journal is counted again.
    func coverage(since: Int64, at now: ComparedTime) -> StatisticsCoverage {
        var coverage = StatisticsCoverage()
        let from = segments.countedFrom
        coverage.countedFrom = from.map(WallTime.init(microseconds:))
        coverage.countedUntil = countedUntil.map(WallTime.init(microseconds:))
        coverage.nextNumber = nextNumber
        // The first count is complete for a range once nothing of the range is left, a later one once nothing is left.
        let hasRange = epoch == 0 && from.map { $0 <= since } ?? false && segments.hasAll(since: since)
        coverage.isComplete = countedUntil != nil && !isOutdated(at: now) && (segments.hasAllClosed || hasRange)
        return coverage
    }
}

/// The effects of a segment's shapes, and the numbers that a ``PairTable`` gives to the segment's names.
struct SegmentVocabulary {
    /// The effect of each shape, by its number in the segment.
    var effects: [CountedLine] = []
    private var names: [UInt32] = []
    private var generation = 0

    /// Forgets the numbers of names if the table has changed them.
    mutating func renew(generation: Int) {
        guard generation != self.generation else { return }
        self.generation = generation
        names.removeAll(keepingCapacity: true)
    }

    /// Returns the number of a name in the table.
    mutating func number(of name: UInt32, in table: inout WordTable, _ text: (UInt32) -> ArraySlice<UInt8>) -> UInt32 {
        guard name != SegmentIndex.none else { return name }
        let index = Int(name)
        if index >= names.count {
            names += repeatElement(SegmentIndex.none, count: index + 1 - names.count)
        }
        if names[index] == SegmentIndex.none {
            names[index] = text(name).withUnsafeBytes { table.number(of: $0) }
        }
        return names[index]
    }
}
