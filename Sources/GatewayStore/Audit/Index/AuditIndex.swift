internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The indexes of a journal's segments: a file beside each closed segment, and a ``PartialIndex`` in memory for the segment
/// in use, and for the one before it until its file is written.
///
/// The files are built from the segments only and can be deleted at any time. They are written atomically and never
/// changed, so several processes can build and use them without a lock. A file that does not match its segment is
/// built again. Queries read a segment without an index itself (``AuditReader``). Safe to use from any thread.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    /// The bytes of closed segments that had no index when the journal was last followed.
    let unindexedBytes = Gauge()
    let state = Mutex(State())
    /// The segment that is followed. Confined to the caller of ``follow(encodes:isWanted:onUpdate:)``.
    let followed = Mutex<SegmentIndexBuilder?>(nil)
    /// The segment that was followed last and is closed, until its index is written.
    let finished = Mutex<FinishedSegment?>(nil)
    /// The time of the last update for a query; nil before the first one.
    let lastQuery = Mutex<ContinuousClock.Instant?>(nil)
    /// The number of lines that were encoded for the segment in use, with repetitions.
    let encodedLines = Counter()
    let partSizes: PartialIndex.PartSizes
    /// The seal of the files; nil for files without one.
    let seal: IndexSeal?

    struct State {
        /// The opened indexes of closed segments, by the number of the segment's first line.
        var closed: [UInt64: SegmentIndex] = [:]
        /// The indexes of the segment in use and of the one before it, by the number of the segment's first line.
        var partial: [UInt64: PartialIndex] = [:]
        /// The segments whose index could not be built or written, with the time of the next attempt.
        var failed: [UInt64: ContinuousClock.Instant] = [:]
    }

    /// The number of free bytes below which the journal rejects calls; 0 if it is not checked.
    let minimumFree: UInt64
    /// The time after which a failed index is tried again.
    private static let retryInterval = Duration.seconds(60)
    /// Creates an index of the journal in the directory. Opens no file.
    ///
    /// - Parameter seal: The seal of the files; nil for files without one, as tests write them.
    public convenience init(directory: String, seal: IndexSeal? = nil) {
        self.init(SegmentFiles(directory: directory), seal: seal)
    }

    /// Creates an index.
    ///
    /// - Parameter minimumFree: The number of free bytes below which the journal rejects calls. No index is written that
    ///   would leave less than twice as many; 0 turns the check off.
    init(
        _ files: SegmentFiles, minimumFree: Int = 0, seal: IndexSeal? = nil, partSizes: PartialIndex.PartSizes = .init()
    ) {
        self.files = files
        self.seal = seal
        self.partSizes = partSizes
        self.minimumFree = UInt64(max(0, minimumFree))
    }

    /// The name of the index of a segment: `index-`, the number of the segment's first line in 20 digits, `.bin`.
    static func fileName(first: UInt64) -> String { "index-\(JournalSegmentName.digits(of: first)).bin" }

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
        if try follow(isWanted: isWanted) { try buildMissing(isWanted: isWanted) }
    }

    /// Builds the missing indexes of closed segments, newest first, and removes those of removed segments. Skips the
    /// segment that ``follow(encodes:isWanted:onUpdate:)`` has begun. At most one thread of a process may call it at a time.
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
        guard !segment.isTooLong else {
            throw Failure("\(segment.name.text) is longer than any segment that is written, and is not indexed")
        }
        var builder = SegmentIndexBuilder(first: segment.name.first)
        if let lines = takeFinished(segment, before: end) {
            builder = lines
        } else {
            while try read(&builder, segment, before: end) { guard isWanted() else { return false } }
        }
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

    /// Adds the next block of the segment to the builder. Returns false if there is none.
    func read(
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
    func isPrefix(_ builder: SegmentIndexBuilder, of segment: SegmentFiles.ListedSegment) throws -> Bool {
        guard segment.size >= UInt64(builder.bytes) else { return false }
        guard let last = builder.lastLine else { return true }
        let bytes = try files.ifPresent { () throws(FileFailure) in
            try files.read(segment.name, from: last.offset, count: builder.bytes - last.offset)
        }
        guard let bytes, let feed = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
        return bytes[..<feed].suffix(SegmentIndexBuilder.tailBytes).elementsEqual(last.tail)
    }
}
