internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The indexes of a journal's segments: a file beside each closed segment, and one in memory for the segment in use.
///
/// The files are built from the segments only and can be deleted at any time. They are written atomically and never
/// changed, so several processes can build and use them without a lock. A file that does not match its segment is
/// built again. Queries read a segment without an index itself (``AuditReader``). Safe to use from any thread.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    /// The bytes of closed segments that had no index when the journal was last followed.
    let unindexedBytes = Gauge()
    let state = Mutex(State())
    /// The segment that is followed. Confined to the caller of ``follow(encodes:isWanted:)``.
    let followed = Mutex<SegmentIndexBuilder?>(nil)

    struct State {
        /// The opened indexes of closed segments, by the number of the segment's first line.
        var closed: [UInt64: SegmentIndex] = [:]
        /// The index of the segment in use.
        var current: SegmentIndex?
        /// The segments whose index could not be built or written, with the time of the next attempt.
        var failed: [UInt64: ContinuousClock.Instant] = [:]
    }

    /// The number of free bytes below which the journal rejects calls; 0 if it is not checked.
    let minimumFree: UInt64
    /// The time after which a failed index is tried again.
    private static let retryInterval = Duration.seconds(60)
    /// The number of new bytes after which the index of the segment in use is encoded again. Queries read fewer bytes
    /// themselves.
    private static let encodingStep = 1 << 20

    /// Creates an index of the journal in the directory. Opens no file.
    public convenience init(directory: String) { self.init(SegmentFiles(directory: directory)) }

    /// Creates an index.
    ///
    /// - Parameter minimumFree: The number of free bytes below which the journal rejects calls. No index is written that
    ///   would leave less than twice as many; 0 turns the check off.
    init(_ files: SegmentFiles, minimumFree: Int = 0) {
        self.files = files
        self.minimumFree = UInt64(max(0, minimumFree))
    }

    /// The name of the index of a segment: `index-`, the number of the segment's first line in 20 digits, `.bin`.
    static func fileName(first: UInt64) -> String { "index-\(JournalSegmentName.digits(of: first)).bin" }

    /// Returns the usable index of a segment, which covers the segment up to its present size or to an earlier one.
    ///
    /// - Parameter end: The number of the next segment's first line; nil for the segment in use.
    func index(of segment: SegmentFiles.ListedSegment, before end: UInt64?) throws -> SegmentIndex? {
        guard let end else {
            let current = state.withLock { $0.current }
            return current?.header.first == segment.name.first ? current : nil
        }
        return try open(segment, before: end)
    }

    /// Builds the indexes that are missing, newest segment first, then that of the segment in use. Blocks for
    /// about a second per million new lines, and hardly at all if there are none.
    ///
    /// - Parameters:
    ///   - progress: Receives the bytes of closed segments that are indexed and the total, before each segment and at
    ///     the end.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later one continues.
    public func update(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) throws(Failure) {
        try buildMissing(progress: progress, isWanted: isWanted)
        try follow(isWanted: isWanted)
    }

    /// Builds the missing indexes of closed segments, newest first, and removes those of removed segments. Skips the
    /// segment that ``follow(encodes:isWanted:)`` has begun. At most one thread of a process may call it at a time.
    ///
    /// - Throws: The first failure, after all other segments were indexed. A failed one is tried again after a minute.
    func buildMissing(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) throws(Failure) {
        var failure: Failure?
        do {
            let segments = try files.list()
            try removeStale(segments)
            let total = segments.reduce(0) { $0 + $1.size }
            var done = segments.last?.size ?? 0
            let skipped = followed.withLock { $0?.first }
            let now = ContinuousClock.now
            let missing = try zip(segments, segments.dropFirst().map(\.name.first)).filter { segment, end in
                guard try open(segment, before: end) == nil else {
                    done += segment.size
                    return false
                }
                let retry = state.withLock { $0.failed[segment.name.first] }
                return segment.name.first != skipped && retry ?? now <= now
            }
            for (segment, end) in missing.reversed() {
                progress(done, total)
                done += segment.size
                do {
                    guard try build(segment, before: end, isWanted) else { return }
                } catch {
                    failure = failure ?? Failure(error)
                    state.withLock { $0.failed[segment.name.first] = .now + Self.retryInterval }
                }
            }
            progress(total, total)
        } catch {
            throw Failure(error)
        }
        if let failure { throw failure }
    }

    /// Builds and writes the index of a closed segment. Returns false if it was stopped.
    private func build(
        _ segment: SegmentFiles.ListedSegment, before end: UInt64, _ isWanted: () -> Bool
    ) throws -> Bool {
        guard isWanted() else { return false }
        var builder = SegmentIndexBuilder(first: segment.name.first)
        while try read(&builder, segment, before: end) { guard isWanted() else { return false } }
        // A segment that was removed meanwhile needs no index.
        guard
            try files.ifPresent({ () throws(FileFailure) in try SystemFileSystem().size(files.path(segment.name)) })
                == segment.size
        else { return true }
        try store(builder.encoded(before: end, size: segment.size), of: segment, before: end)
        // Otherwise it would be built again at once, and without end.
        guard try open(segment, before: end) != nil else {
            throw Failure("\(Self.fileName(first: segment.name.first)) cannot be used")
        }
        return true
    }

    /// Brings the index of the segment in use up to date, in memory. Once the segment is closed, its index is written
    /// to a file. At most one thread may call it at a time.
    ///
    /// - Parameters:
    ///   - encodes: Whether a query follows. Without a query, the lines are only collected.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later one continues.
    ///   - onUpdate: Receives the collected lines of the segment in use and the segments, of which that one is the last.
    /// - Returns: Whether other closed segments may lack an index, so that `buildMissing` has to run.
    @discardableResult
    func follow(
        encodes: Bool = true, isWanted: () -> Bool = { true },
        onUpdate: (SegmentIndexBuilder, [SegmentFiles.ListedSegment]) -> Void = { _, _ in }
    ) throws(Failure) -> Bool {
        do {
            let segments = try files.list()
            guard let last = segments.last else {
                state.withLock { $0.current = nil }
                return false
            }
            var builder = followed.withLock { builder in builder.take() } ?? SegmentIndexBuilder(first: last.name.first)
            if builder.first != last.name.first {
                // After a failure, `buildMissing` tries again and reports it.
                try? finish(builder, segments, isWanted)
                builder = SegmentIndexBuilder(first: last.name.first)
            } else if try !isPrefix(builder, of: last) {
                builder = SegmentIndexBuilder(first: last.name.first)
                state.withLock { $0.current = nil }
            }
            while isWanted(), try read(&builder, last, before: nil) {}
            onUpdate(builder, segments)
            let encoded = state.withLock { $0.current?.header }
            let isCurrent = encoded?.first == last.name.first
            if encodes, !isCurrent || builder.bytes - Int(encoded?.bytes ?? 0) >= Self.encodingStep {
                let index = SegmentIndex(builder.encoded(before: nil, size: UInt64(builder.bytes)))
                state.withLock { $0.current = index }
            }
            followed.withLock { [builder] in $0 = builder }
            return try needsBuilding(segments)
        } catch {
            followed.withLock { $0 = nil }
            throw Failure(error)
        }
    }

    /// Reads the rest of a segment that was followed and is closed now, and writes its index.
    private func finish(
        _ builder: SegmentIndexBuilder, _ segments: [SegmentFiles.ListedSegment], _ isWanted: () -> Bool
    ) throws {
        guard let index = segments.firstIndex(where: { $0.name.first == builder.first }), index + 1 < segments.count,
            try isPrefix(builder, of: segments[index])
        else { return }
        let end = segments[index + 1].name.first
        var builder = builder
        while isWanted(), try read(&builder, segments[index], before: end) {}
        // Lines that a failed write left may have been added before the next segment was known.
        guard isWanted(), builder.latestNumber.map({ $0 < end }) ?? true else { return }
        try store(builder.encoded(before: end, size: segments[index].size), of: segments[index], before: end)
    }

    /// Returns whether an index is missing or was removed, or one of a removed segment is left.
    private func needsBuilding(_ segments: [SegmentFiles.ListedSegment]) throws -> Bool {
        let found = Set(try SystemFileSystem().fileNames(in: files.directory).compactMap(Self.first(inFileName:)))
        let (known, failed) = state.withLock { ($0.closed, $0.failed) }
        let now = ContinuousClock.now
        let missing = zip(segments, segments.dropFirst()).filter { segment, next in
            !(known[segment.name.first]?.covers(segment, before: next.name.first) ?? false)
        }
        unindexedBytes.set(missing.reduce(0) { $0 + Int64(clamping: $1.0.size) })
        return !found.isSubset(of: segments.map(\.name.first)) || !found.isSuperset(of: known.keys)
            || missing.contains { failed[$0.0.name.first] ?? now <= now }
    }

    /// Adds the next block of the segment to the builder. Returns false if there is none.
    private func read(
        _ builder: inout SegmentIndexBuilder, _ segment: SegmentFiles.ListedSegment, before end: UInt64?
    ) throws -> Bool {
        guard segment.size > UInt64(builder.bytes) else { return false }
        let start = builder.bytes
        let block = try files.ifPresent { () throws(FileFailure) in
            try files.block(of: segment, from: start, isGrowing: end == nil)
        }
        guard let block else { return false }
        try builder.add(block, before: end)
        return true
    }

    /// Returns whether the segment still begins with the bytes that the builder has read. Compares the last line, whose
    /// hash covers the lines before it.
    private func isPrefix(_ builder: SegmentIndexBuilder, of segment: SegmentFiles.ListedSegment) throws -> Bool {
        guard segment.size >= UInt64(builder.bytes) else { return false }
        guard let last = builder.lastLine else { return true }
        let bytes = try files.ifPresent { () throws(FileFailure) in
            try files.read(segment.name, from: last.offset, count: builder.bytes - last.offset)
        }
        guard let bytes, let feed = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
        return bytes[..<feed].suffix(SegmentIndexBuilder.tailBytes).elementsEqual(last.tail)
    }
}
