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

    init(limits: PairTable.Limits, now: Int64) {
        pairs = PairTable(limits: limits, retention: PairRetention(now: now))
    }

    /// Sets the existing segments, and removes what is older than the retention.
    mutating func begin(_ segments: [UInt64], now: Int64) {
        self.segments.update(segments)
        pairs.expire(to: PairRetention(now: now, oldest: self.segments.oldest ?? .min))
    }

    /// Counts one line.
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
        guard case .send(let word, let count, _) = line, sender != SegmentIndex.none else { return }
        if pairs.isFull { pairs.makeRoom() }
        vocabulary.renew(generation: pairs.generation)
        pairs.add(
            word, count, from: vocabulary.number(of: sender, in: &pairs.names, text),
            to: vocabulary.number(of: recipient, in: &pairs.names, text), at: time)
    }

    /// Returns the coverage of a range that starts at the time.
    func coverage(since: Int64) -> StatisticsCoverage {
        var coverage = StatisticsCoverage()
        let from = segments.countedFrom
        coverage.countedFrom = from.map(WallTime.init(microseconds:))
        coverage.countedUntil = countedUntil.map(WallTime.init(microseconds:))
        coverage.nextNumber = nextNumber
        coverage.isComplete = countedUntil != nil && (segments.hasAllClosed || from.map { $0 <= since } ?? false)
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
