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
        // The memory of discarded counts is released after the lock.
        var discarded: StatisticsState?
        let isAvailable: Void? = state.withLockIfAvailable { state in
            guard let epoch = state?.epoch else { return }
            if state?.isOutdated(at: end.read) ?? false {
                discarded = state
                state = StatisticsState(limits: limits, began: end.read, epoch: epoch + 1)
            }
            state?.begin(listed.map(\.name.first), now: end.time)
        }
        _ = consume discarded
        guard isAvailable != nil else { return }
        while isWanted(), state.withLockIfAvailable({ $0?.countSlice(of: lines, before: end) ?? false }) ?? false {}
        let needsFilling = state.withLockIfAvailable { state in
            state.map { !$0.segments.hasAllClosed || $0.needsMaintenance } ?? false
        }
        if needsFilling ?? true { fill(listed) }
    }

    /// Starts to maintain the pairs and to count the closed segments, newest first, unless that is under way.
    private func fill(_ listed: [SegmentFiles.ListedSegment]) {
        guard !isFilling.exchange(true, ordering: .acquiringAndReleasing) else { return }
        fills.async { [self] in
            var pace = BackgroundThrottle()
            maintain()
            let closed = Array(zip(listed, listed.dropFirst()).reversed())
            for (segment, next) in closed where isWanted() { findLatest(of: segment, before: next.name.first) }
            for (segment, next) in closed {
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

    /// Maintains the pairs (``PairTable/maintain(to:)``) on a copy, during which no line is counted. Holds the lock only to
    /// copy the references and to exchange the tables. Runs on `fills`.
    ///
    /// - Parameter whileCopied: Called while the copy is maintained.
    func maintain(whileCopied: () -> Void = {}) {
        guard let epoch = maintainCopy(whileCopied) else { return }
        // The former table is released now. Had it not been, the first change would copy what both tables have.
        state.withLock { state in if state?.epoch == epoch { state?.endMaintenance() } }
    }

    private func maintainCopy(_ whileCopied: () -> Void) -> Int? {
        guard var copy = state.withLock({ $0?.beginMaintenance() }) else { return nil }
        copy.pairs.maintain(to: copy.retention)
        whileCopied()
        state.withLock { state in if state?.epoch == copy.epoch { state?.exchangePairs(&copy.pairs) } }
        return copy.epoch
    }

    /// Finds the latest time of a closed segment that is not counted. Without an index, this is the time of its first or
    /// last line.
    private func findLatest(of segment: SegmentFiles.ListedSegment, before end: UInt64) {
        let first = segment.name.first
        let isKnown = state.withLock { state in
            state.map { $0.segments.isComplete(first) || $0.segments.hasLatest(of: first) } ?? true
        }
        guard !isKnown else { return }
        var times: [Int64] = []
        if let found = try? index.open(segment, before: end) {
            times = [found.header.latest]
        } else {
            let files = index.files
            times = [try? files.firstTime(of: segment), try? files.lastTime(of: segment, before: end)].compactMap {
                $0 ?? nil
            }
        }
        guard let latest = times.max() else { return }
        state.withLock { $0?.segments.setLatest(latest, of: first) }
    }

    /// Counts the lines of a closed segment that has an index and is not counted yet.
    private func fill(
        _ segment: SegmentFiles.ListedSegment, before end: UInt64, _ pace: inout BackgroundThrottle
    ) throws {
        guard let found = try index.open(segment, before: end) else { return }
        let first = segment.name.first
        let began = state.withLock { state -> (epoch: Int, position: CountedSegments.Position)? in
            state?.segments.setLatest(found.header.latest, of: first)
            return state.map { ($0.epoch, $0.segments.position(in: first)) }
        }
        guard let began else { return }
        let now = clocks.wall().microseconds
        var lines = try IndexedLines(found, after: began.position)
        if found.header.latest >= PairRetention(now: now).firstDayHour * StatisticsBucket.hour {
            while isWanted(), try lines.load(Self.sliceLines) {
                while !lines.isCounted {
                    guard isWanted(), add(&lines, of: first, in: began.epoch, now: now) else { return }
                    maintain()
                }
                pause(for: pace.pause())
                pace.begin()
            }
        }
        guard isWanted() else { return }
        state.withLock { state in if state?.epoch == began.epoch { state?.segments.complete(first) } }
    }

    /// Counts lines until all that were read are counted or the pairs have no room. Returns false if the counts were
    /// discarded.
    private func add(_ lines: inout IndexedLines, of segment: UInt64, in epoch: Int, now: Int64) -> Bool {
        state.withLock { state in
            guard var counts = state, counts.epoch == epoch else { return false }
            state = nil
            lines.count(in: &counts, now: now)
            counts.segments.advance(segment, to: lines.position)
            state = counts
            return true
        }
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
    /// Counts the next lines of the segment in use. Returns whether there are more that can be counted now.
    fileprivate mutating func countSlice(
        of lines: SegmentIndexBuilder, before end: JournalStatistics.CountableEnd
    ) -> Bool {
        // The pairs are maintained. The next call continues.
        guard !isCopied else { return false }
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
        var hasRoom = true
        while position.rows < stop {
            hasRoom = pairs.hasRoom
            guard hasRoom else {
                isAtEnd = false
                break
            }
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
        return !isAtEnd && hasRoom
    }
}
