internal import GatewayCore
internal import GatewaySupport
internal import Glibc
internal import Synchronization

/// The indexes of a journal's segments: a file beside each closed segment, and one in memory for the segment in use.
///
/// The files are built from the segments only and can be deleted at any time. They are written atomically and never
/// changed, so several processes can build and use them without a lock. A file that does not match its segment is
/// built again. Queries read a segment without an index itself (``AuditReader``). Safe to use from any thread.
public final class AuditIndex: Sendable {
    let files: SegmentFiles
    private let state = Mutex(State())
    /// The segment that is followed. Confined to the caller of ``follow(isWanted:)``.
    private let followed = Mutex<SegmentIndexBuilder?>(nil)

    private struct State {
        /// The opened indexes of closed segments, by the number of the segment's first line.
        var closed: [UInt64: SegmentIndex] = [:]
        /// The index of the segment in use.
        var current: SegmentIndex?
    }

    /// The error thrown if the index cannot be used or the journal cannot be read.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        /// The failed operation, and the message of the system.
        public let description: String
        /// The number of the first line of the segment whose index is damaged; nil if the failure is not damage.
        let damagedSegment: UInt64?

        init(_ description: String) {
            self.description = description
            damagedSegment = nil
        }

        init(_ error: any Error) {
            if let failure = error as? Failure { self = failure } else { self.init("\(error)") }
        }

        /// Creates the failure that the index of a segment is damaged or does not match the segment.
        init(damaged segment: UInt64, _ detail: String = "is damaged") {
            description = "\(AuditIndex.fileName(first: segment)) \(detail)"
            damagedSegment = segment
        }
    }

    /// Creates an index of the journal in the directory. Opens no file.
    public convenience init(directory: String) { self.init(SegmentFiles(directory: directory)) }

    init(_ files: SegmentFiles) { self.files = files }

    /// The name of the index of a segment: `index-`, the number of the segment's first line in 20 digits, `.bin`.
    static func fileName(first: UInt64) -> String { "index-\(JournalSegmentName.digits(of: first)).bin" }

    /// Returns the usable index of a segment, which covers the segment up to its present size or to an earlier one.
    ///
    /// - Parameter end: The number of the next segment's first line; nil for the segment in use.
    func index(of segment: SegmentFiles.ListedSegment, before end: UInt64?) -> SegmentIndex? {
        state.withLock { state in
            guard let end else {
                let current = state.current
                return current?.header.first == segment.name.first ? current : nil
            }
            guard let index = state.closed[segment.name.first], index.covers(segment, before: end) else { return nil }
            return index
        }
    }

    /// Builds the indexes that are missing, newest segment first, then that of the segment in use. Blocks for less than
    /// a second per million new lines, and hardly at all if there are none.
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
    /// segment that ``follow(isWanted:)`` has begun. At most one thread of a process may call it at a time.
    func buildMissing(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) throws(Failure) {
        do {
            let segments = try files.list()
            let ends = segments.dropFirst().map(\.name.first)
            try removeStale(segments)
            let total = segments.reduce(0) { $0 + $1.size }
            var done = segments.last?.size ?? 0
            let skipped = followed.withLock { $0?.first }
            for (segment, end) in zip(segments, ends).reversed() {
                progress(done, total)
                done += segment.size
                guard segment.name.first != skipped, !(try open(segment, before: end)) else { continue }
                guard isWanted() else { return }
                var builder = SegmentIndexBuilder(first: segment.name.first)
                while try read(&builder, segment, before: end) { guard isWanted() else { return } }
                // A segment that was removed meanwhile leaves an incomplete builder.
                if builder.bytes > 0 {
                    try store(builder.encoded(before: end, size: segment.size), of: segment, before: end)
                }
            }
            progress(total, total)
        } catch {
            throw Failure(error)
        }
    }

    /// Brings the index of the segment in use up to date, in memory. Once the segment is closed, its index is written
    /// to a file. At most one thread may call it at a time.
    ///
    /// - Returns: Whether other closed segments may lack an index, so that `buildMissing` has to run.
    @discardableResult
    func follow(isWanted: () -> Bool = { true }) throws(Failure) -> Bool {
        do {
            let segments = try files.list()
            guard let last = segments.last else {
                state.withLock { $0.current = nil }
                return false
            }
            var builder = followed.withLock { builder in builder.take() } ?? SegmentIndexBuilder(first: last.name.first)
            if builder.first != last.name.first {
                try finish(builder, segments, isWanted)
                builder = SegmentIndexBuilder(first: last.name.first)
            } else if try !isPrefix(builder, of: last) {
                builder = SegmentIndexBuilder(first: last.name.first)
                state.withLock { $0.current = nil }
            }
            let before = builder.bytes
            while isWanted(), try read(&builder, last, before: nil) {}
            if builder.bytes > before || state.withLock({ $0.current == nil }) {
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

    private func needsBuilding(_ segments: [SegmentFiles.ListedSegment]) throws -> Bool {
        let known = state.withLock { $0.closed }
        return zip(segments, segments.dropFirst()).contains { segment, next in
            !(known[segment.name.first]?.covers(segment, before: next.name.first) ?? false)
        }
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

    // MARK: Files

    /// Removes the damaged index of a segment, so that it is built again.
    func discard(_ first: UInt64) {
        state.withLock { state in
            if state.closed.removeValue(forKey: first) == nil, state.current?.header.first == first {
                state.current = nil
            }
        }
        followed.withLock { if $0?.first == first { $0 = nil } }
        unlink(path(first))
    }

    /// Removes the indexes of all segments.
    func discardAll() throws(FileFailure) {
        state.withLock { $0 = State() }
        followed.withLock { $0 = nil }
        for name in try SystemFileSystem().fileNames(in: files.directory) where Self.first(inFileName: name) != nil {
            try PrivateFiles.remove("\(files.directory)/\(name)")
        }
    }

    /// Closes the files. A later use opens them again.
    public func close() {
        state.withLock { $0 = State() }
        followed.withLock { $0 = nil }
    }

    private func path(_ first: UInt64) -> String { "\(files.directory)/\(Self.fileName(first: first))" }

    /// Opens the index of a closed segment. Returns whether it is usable.
    private func open(_ segment: SegmentFiles.ListedSegment, before end: UInt64) throws -> Bool {
        let first = segment.name.first
        if index(of: segment, before: end) != nil { return true }
        guard let index = try? SegmentIndex(path(first), first: first), index.covers(segment, before: end) else {
            return false
        }
        state.withLock { $0.closed[first] = index }
        return true
    }

    private static let drafts = Atomic<UInt64>(0)

    /// Writes the index of a closed segment and opens it.
    private func store(
        _ encoded: SegmentIndex.Encoded, of segment: SegmentFiles.ListedSegment, before end: UInt64
    ) throws {
        let path = path(segment.name.first)
        // Several processes, and two threads of this one, may build the same index.
        let draft = "\(path).\(getpid())-\(Self.drafts.add(1, ordering: .relaxed).newValue)"
        try AtomicFile.write(encoded.bytes, to: path, draft: draft, .replacing, isDurable: false) {
            descriptor throws(FileFailure) in
            Self.assignToDirectoryOwner(descriptor, files.directory)
        }
        _ = try open(segment, before: end)
    }

    /// Removes the files of segments that no longer exist, drafts that a killed process left, and the database that
    /// former versions used.
    private func removeStale(_ segments: [SegmentFiles.ListedSegment]) throws {
        let present = Set(segments.map(\.name.first))
        var found: Set<UInt64> = []
        for name in try SystemFileSystem().fileNames(in: files.directory) where name.hasPrefix("index") {
            let path = "\(files.directory)/\(name)"
            if let first = Self.first(inFileName: name) {
                if present.contains(first) { found.insert(first) } else { unlink(path) }
            } else if Self.formerNames.contains(name) || Self.isAbandonedDraft(name) {
                unlink(path)
            }
        }
        // Another process may have removed a file because it found it damaged.
        state.withLock { state in state.closed = state.closed.filter { found.contains($0.key) } }
    }

    private static let formerNames: Set = [
        "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal", "index.clean", "index.lock",
        "index.damaged",
    ]

    /// Returns the number in the name of an index file; nil for other names.
    static func first(inFileName name: String) -> UInt64? {
        guard name.hasPrefix("index-"), name.hasSuffix(".bin"), name.utf8.count == 6 + 20 + 4 else { return nil }
        return UInt64(name.dropFirst(6).dropLast(4))
    }

    private static func isAbandonedDraft(_ name: String) -> Bool {
        let parts = name.split(separator: ".")
        guard parts.count == 3, first(inFileName: "\(parts[0]).\(parts[1])") != nil,
            let process = parts[2].split(separator: "-").first.flatMap({ pid_t($0) })
        else { return false }
        return process != getpid() && kill(process, 0) != 0 && errno == ESRCH
    }

    /// Gives a file that root created to the owner of the directory. The gateway runs as that user and must be able to
    /// read and replace the file.
    private static func assignToDirectoryOwner(_ descriptor: CInt, _ directory: String) {
        var status = stat()
        guard geteuid() == 0, stat(directory, &status) == 0 else { return }
        _ = fchown(descriptor, status.st_uid, status.st_gid)
    }
}

extension SegmentIndex {
    /// Returns whether this is the index of the whole closed segment. Its bytes are not compared: a closed segment does
    /// not change, and a line that is read through the index is compared with it.
    func covers(_ segment: SegmentFiles.ListedSegment, before end: UInt64) -> Bool {
        header.first == segment.name.first && header.end == end && header.bytes == segment.size
    }
}
