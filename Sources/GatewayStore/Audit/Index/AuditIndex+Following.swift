internal import GatewaySupport
internal import Synchronization

extension AuditIndex {
    /// The lines of a closed segment whose index is not written yet.
    struct FinishedSegment: Sendable {
        let segment: SegmentFiles.ListedSegment
        /// The number of the next segment's first line.
        let end: UInt64
        let lines: SegmentIndexBuilder
    }

    /// The time after a query for which new lines are also encoded without one, so that the next query has fewer to encode.
    private static let queriedFor = Duration.seconds(300)

    /// Brings the index of the segment in use up to date, in memory. At most one thread may call it at a time.
    ///
    /// An update for a query costs about 2 µs for each line since the last one, and at most 5 ms for the lines before
    /// (``PartialIndex``). Once the segment is closed, ``buildMissing(progress:isWanted:)`` writes its index to a file.
    /// Until then, queries use the one in memory.
    ///
    /// - Parameters:
    ///   - encodes: Whether a query follows. If none follows and there was none for some minutes, the lines are only
    ///     collected.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later one continues.
    ///   - onUpdate: Receives the collected lines of the segment in use and the segments, of which that one is the last.
    /// - Returns: Whether closed segments may lack an index, so that `buildMissing` has to run.
    @discardableResult
    func follow(
        encodes: Bool = true, isWanted: () -> Bool = { true },
        onUpdate: (SegmentIndexBuilder, [SegmentFiles.ListedSegment]) -> Void = { _, _ in }
    ) throws(Failure) -> Bool {
        do {
            let segments = try files.list()
            guard let last = segments.last else {
                state.withLock { $0.partial = [:] }
                return false
            }
            let isQueried = lastQuery.withLock { time in
                if encodes { time = .now }
                return time.map { .now - $0 < Self.queriedFor } ?? false
            }
            let known = followed.withLock { lines in lines.take() }
            var lines = known ?? SegmentIndexBuilder(first: last.name.first)
            if lines.first != last.name.first {
                // After a failure, `buildMissing` tries again and reports it.
                try? finish(lines, segments, isQueried: isQueried, isWanted)
                lines = SegmentIndexBuilder(first: last.name.first)
            } else if try known == nil || !isPrefix(lines, of: last) {
                lines = SegmentIndexBuilder(first: last.name.first)
                state.withLock { $0.partial[last.name.first] = nil }
            }
            while isWanted(), try read(&lines, last, before: nil) {}
            onUpdate(lines, segments)
            if isQueried { encode(lines, isComplete: encodes) }
            followed.withLock { [lines] in $0 = lines }
            return try needsBuilding(segments)
        } catch {
            followed.withLock { $0 = nil }
            throw Failure(error)
        }
    }

    /// Returns the index in memory of a segment without a file: the parts, the number of bytes that they cover, and the
    /// number after their last line. Nil if there is none.
    ///
    /// - Parameter end: The number of the next segment's first line; nil for the segment in use.
    func partial(
        of segment: SegmentFiles.ListedSegment, before end: UInt64?
    ) -> (indexes: [SegmentIndex], bytes: UInt64, next: UInt64)? {
        let first = segment.name.first
        guard let partial = state.withLock({ $0.partial[first] }), partial.bytes <= segment.size else {
            return nil
        }
        // A failed write may have left lines whose numbers the next segment has again.
        if let end, let latest = partial.latestNumber, latest >= end { return nil }
        return (partial.indexes, UInt64(partial.bytes), partial.latestNumber.map { $0 + 1 } ?? first)
    }

    /// Encodes the lines that have no index in memory yet.
    ///
    /// - Parameter isComplete: Whether all are encoded. Otherwise, fewer than a small part are left for the next query.
    private func encode(_ lines: SegmentIndexBuilder, isComplete: Bool) {
        // Only this thread replaces the value, so the lock is not held meanwhile.
        var partial = state.withLock { $0.partial[lines.first] } ?? PartialIndex(first: lines.first, partSizes)
        guard isComplete || lines.bytes - partial.bytes >= partSizes.small else { return }
        encodedLines.add(UInt64(partial.extend(to: lines)))
        state.withLock { [partial] in $0.partial[lines.first] = partial }
    }

    /// Reads the rest of a segment that was followed and is closed now, and hands it over to `buildMissing`.
    private func finish(
        _ followed: SegmentIndexBuilder, _ segments: [SegmentFiles.ListedSegment], isQueried: Bool,
        _ isWanted: () -> Bool
    ) throws {
        let first = followed.first
        var isFinished = false
        defer {
            // At most this segment and the one in use have an index in memory.
            state.withLock { state in
                state.partial = state.partial.filter { $0.key == first && isFinished }
            }
            if !isFinished { finished.withLock { $0 = nil } }
        }
        guard let position = segments.firstIndex(where: { $0.name.first == first }), position + 1 < segments.count,
            try isPrefix(followed, of: segments[position])
        else { return }
        let (segment, end) = (segments[position], segments[position + 1].name.first)
        var lines = followed
        while isWanted(), try read(&lines, segment, before: end) {}
        // Lines that a failed write left may have been added before the next segment was known.
        guard isWanted(), lines.latestNumber.map({ $0 < end }) ?? true else { return }
        isFinished = true
        finished.withLock { [lines] in $0 = FinishedSegment(segment: segment, end: end, lines: lines) }
        if isQueried { encode(lines, isComplete: true) }
    }

    /// Returns the lines of a closed segment that was followed to its end; nil for any other segment.
    func takeFinished(_ segment: SegmentFiles.ListedSegment, before end: UInt64) -> SegmentIndexBuilder? {
        finished.withLock { finished in
            guard finished?.segment == segment, finished?.end == end else { return nil }
            return finished.take()?.lines
        }
    }

    /// Releases the lines of a closed segment that has an index, or whose lines are not trusted any more.
    func forgetFinished(_ first: UInt64) {
        finished.withLock { if $0?.segment.name.first == first { $0 = nil } }
    }

    /// Returns whether an index is missing or was removed, or one of a removed segment is left.
    private func needsBuilding(_ segments: [SegmentFiles.ListedSegment]) throws -> Bool {
        let found = Set(try SystemFileSystem().fileNames(in: files.directory).compactMap(Self.first(inFileName:)))
        let (known, failed, partial) = state.withLock { ($0.closed, $0.failed, Set($0.partial.keys)) }
        let pending = finished.withLock { $0?.segment.name.first }
        let now = ContinuousClock.now
        let missing = zip(segments, segments.dropFirst()).filter { segment, next in
            !(known[segment.name.first]?.covers(segment, before: next.name.first) ?? false)
        }
        unindexedBytes.set(
            missing.reduce(0) { sum, pair in
                let first = pair.0.name.first
                // The index of the segment that was closed last is about to be written, or is in memory.
                return first == pending || partial.contains(first)
                    ? sum : sum.addingSaturating(Int64(clamping: pair.0.size))
            })
        return !found.isSubset(of: segments.map(\.name.first)) || !found.isSuperset(of: known.keys)
            || missing.contains { failed[$0.0.name.first] ?? now <= now }
    }
}
