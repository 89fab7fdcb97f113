internal import Dispatch
internal import GatewaySupport
internal import Glibc
internal import Synchronization

extension JournalStatistics {
    /// Counts the new lines of the segment in use, and starts to count closed segments. Called after each update of the
    /// index, by one thread at a time.
    ///
    /// - Parameters:
    ///   - lines: The lines of the last segment.
    ///   - listed: The segments of the journal.
    ///   - end: ``countableEnd()`` before the segments were listed.
    func count(_ lines: SegmentIndexBuilder, _ listed: [SegmentFiles.ListedSegment], before end: CountableEnd) {
        let needsFilling = state.withLock { state in
            state?.begin(listed.map(\.name.first), now: end.time)
            return !(state?.segments.hasAllClosed ?? true)
        }
        while isWanted(), state.withLock({ $0?.countSlice(of: lines, before: end) ?? false }) {}
        if needsFilling { fill(listed) }
    }

    /// Starts to count the closed segments, newest first, unless that is under way.
    private func fill(_ listed: [SegmentFiles.ListedSegment]) {
        guard !isFilling.exchange(true, ordering: .acquiringAndReleasing) else { return }
        fills.async { [self] in
            var pace = BackgroundThrottle()
            for (segment, next) in zip(listed, listed.dropFirst()).reversed() {
                guard isWanted() else { break }
                guard state.withLock({ !($0?.segments.isComplete(segment.name.first) ?? true) }) else { continue }
                do {
                    try fill(segment, before: next.name.first, &pace)
                } catch {
                    // A damaged index is built again, and a later attempt continues after the lines counted.
                    if let first = AuditIndex.Failure(error).damagedSegment { _ = index.discard(first) }
                }
            }
            isFilling.store(false, ordering: .releasing)
        }
    }

    /// Counts the lines of a closed segment that has an index and is not counted yet.
    private func fill(
        _ segment: SegmentFiles.ListedSegment, before end: UInt64, _ pace: inout BackgroundThrottle
    ) throws {
        guard let found = try index.open(segment, before: end) else { return }
        let first = segment.name.first
        let now = clocks.wall().microseconds
        var lines = try IndexedLines(found, after: state.withLock { $0?.segments.position(in: first) } ?? .init())
        if found.header.latest >= PairRetention(now: now).firstDayHour * StatisticsBucket.hour {
            while isWanted(), try lines.load(Self.sliceLines) {
                state.withLock { state in
                    lines.count(in: &state, now: now)
                    state?.segments.advance(first, to: lines.position)
                }
                pause(for: pace.pause())
                pace.begin()
            }
        }
        guard isWanted() else { return }
        state.withLock { $0?.segments.complete(first) }
    }

    /// Sleeps, or returns early if the statistics are closed.
    private func pause(for duration: Duration) {
        let end = ContinuousClock.now + duration
        while isWanted() {
            let left = (end - .now) / .microseconds(1)
            guard left > 0 else { return }
            usleep(UInt32(min(left, Double(Self.maximumSleep))) + 1)
        }
    }

    /// The longest sleep, in microseconds.
    private static let maximumSleep = 50_000
}

extension StatisticsState {
    /// Counts the next lines of the segment in use. Returns whether there are more.
    fileprivate mutating func countSlice(
        of lines: SegmentIndexBuilder, before end: JournalStatistics.CountableEnd
    ) -> Bool {
        if liveSegment != lines.first {
            liveSegment = lines.first
            live = SegmentVocabulary()
        }
        var position = segments.position(in: lines.first)
        // The lines may have been collected again, of another file.
        let isContinued =
            position.rows == 0
            || (position.rows <= lines.rows.count && lines.rows[position.rows - 1].number + 1 == position.next)
        if !isContinued || live.effects.count > lines.shapeList.count {
            position.rows = 0
            live = SegmentVocabulary()
        }
        func term(_ number: UInt32) -> String? {
            number == SegmentIndex.none
                ? nil : String(decoding: lines.terms.text[lines.terms.range(of: number)], as: UTF8.self)
        }
        for shape in lines.shapeList.dropFirst(live.effects.count) {
            live.effects.append(
                CountedLine(
                    kind: term(shape.kind), action: term(shape.action), result: term(shape.result), count: shape.count,
                    latency: shape.latency == SegmentIndex.none ? nil : Int(shape.latency)))
        }
        // The vocabulary is taken out, because the state changes while it is used.
        var vocabulary = live
        live = SegmentVocabulary()
        let stop = min(lines.rows.count, position.rows + JournalStatistics.sliceLines)
        var isAtEnd = stop == lines.rows.count
        while position.rows < stop {
            let row = lines.rows[position.rows]
            guard row.number < end.number else {
                isAtEnd = true
                break
            }
            position.rows += 1
            guard row.number >= position.next else { continue }
            position.next = row.number + 1
            position.earliest = min(position.earliest ?? row.time, row.time)
            countedUntil = row.time
            count(
                vocabulary.effects[Int(row.shape)], at: row.time, from: row.user, to: row.recipient, &vocabulary,
                now: end.time
            ) { lines.names.text[lines.names.range(of: $0)] }
        }
        live = vocabulary
        nextNumber = max(nextNumber, position.next)
        segments.advance(lines.first, to: position)
        // Everything that was on disk when the segments were listed is counted.
        if isAtEnd { countedUntil = end.time }
        return !isAtEnd
    }
}

/// The lines of a closed segment, read through its index, in portions. Confined to one thread.
private struct IndexedLines {
    private let reader: SegmentIndexReader
    private let rows: Int
    private var vocabulary = SegmentVocabulary()
    private var texts: [[UInt8]?]
    private var loaded: [SegmentIndex.Row] = []
    private(set) var position: CountedSegments.Position

    /// Creates the lines after the position.
    init(_ index: SegmentIndex, after position: CountedSegments.Position) throws {
        reader = SegmentIndexReader(index)
        rows = index.header.count(of: .rows)
        texts = [[UInt8]?](repeating: nil, count: index.header.count(of: .names))
        vocabulary.effects = try reader.shapes().map {
            CountedLine(kind: $0.kind, action: $0.action, result: $0.result, count: $0.count, latency: $0.latency)
        }
        self.position = position
        // Usually the index has the rows that were counted while the lines were written.
        let isContinued =
            try position.rows == 0
            || (position.rows <= rows && reader.row(UInt32(position.rows - 1)).number + 1 == position.next)
        if !isContinued { self.position.rows = 0 }
    }

    /// Reads up to `count` further lines and their names. Returns false if there are none.
    mutating func load(_ count: Int) throws -> Bool {
        loaded.removeAll(keepingCapacity: true)
        let stop = min(rows, position.rows + count)
        for number in position.rows..<stop {
            let row = try reader.row(UInt32(number))
            guard vocabulary.effects.indices.contains(row.shape) else { throw damage }
            for name in [row.user, row.recipient] where name != SegmentIndex.none {
                guard texts.indices.contains(Int(name)) else { throw damage }
                if texts[Int(name)] == nil { texts[Int(name)] = try reader.text(ofName: name) }
            }
            loaded.append(row)
        }
        position.rows = stop
        return !loaded.isEmpty
    }

    /// Counts the lines that were read.
    mutating func count(in state: inout StatisticsState?, now: Int64) {
        for row in loaded where row.number >= position.next {
            position.next = row.number + 1
            position.earliest = min(position.earliest ?? row.time, row.time)
            state?.count(
                vocabulary.effects[row.shape], at: row.time, from: row.user, to: row.recipient, &vocabulary, now: now
            ) { [texts] in texts[Int($0)]?[...] ?? [] }
        }
    }

    private var damage: AuditIndex.Failure { AuditIndex.Failure(damaged: reader.index.header.first) }
}
