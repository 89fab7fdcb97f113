internal import GatewaySupport

/// Reads the lines of a journal in order, while it is written and while retention removes segments.
///
/// It reads only lines that are on disk, so that it never returns a line of a write that fails later. Lines that the
/// journal no longer contains are counted. All functions block.
public struct JournalFollower: Sendable {
    private let files: SegmentFiles

    /// The number of bytes that one read requests.
    private static let blockBytes = 1 << 18

    /// Creates a follower of the journal in the directory. Opens no file.
    public init(directory: String) { files = SegmentFiles(directory: directory, blockBytes: Self.blockBytes) }

    /// The maximum size of an excerpt.
    public struct Bounds: Sendable, Hashable {
        /// The maximum number of lines.
        public var lines: Int
        /// The maximum number of bytes. A single line may exceed it.
        public var bytes: Int

        /// Creates bounds from their parts.
        public init(lines: Int, bytes: Int) {
            self.lines = lines
            self.bytes = bytes
        }
    }

    /// Returns the lines from the position on.
    ///
    /// - Parameter end: The number after the last line that is on disk, from ``JournalFollowers/durableEnd``.
    public func read(
        from start: JournalPosition, before end: UInt64, within bounds: Bounds
    ) throws(AuditIndex.Failure) -> JournalExcerpt {
        do throws(FileFailure) {
            var reading = Reading(start, end: end, bounds)
            guard start.next < end else { return reading.excerpt }
            let segments = try files.list()
            let first = segments.lastIndex { $0.name.first <= start.next } ?? 0
            for (index, segment) in segments.enumerated().dropFirst(first) {
                let successor = index + 1 < segments.count ? segments[index + 1].name.first : nil
                reading.skip(to: segment.name.first)
                try read(segment, before: successor, into: &reading)
                if reading.isComplete { break }
                // Lines that are missing at the end of a segment were cut off or removed with it.
                if let successor { reading.skip(to: successor) }
            }
            return reading.excerpt
        } catch {
            throw AuditIndex.Failure(error)
        }
    }

    /// Adds the lines of one segment from the excerpt's position on. Adds none if the segment has been removed.
    private func read(
        _ segment: SegmentFiles.ListedSegment, before successor: UInt64?, into reading: inout Reading
    ) throws(FileFailure) {
        var offset = try startOffset(in: segment, at: reading.excerpt.position)
        while !reading.isComplete {
            let block = try files.ifPresent { () throws(FileFailure) in
                try files.block(of: segment, from: offset, isGrowing: successor == nil)
            }
            guard let block else { return }
            var start = 0
            while let lineEnd = ChainCheck.endOfLine(in: block, from: start) {
                let isAccepted = reading.add(
                    block, start..<lineEnd, of: segment.name.first, endingAt: offset + lineEnd + 1,
                    before: successor ?? .max)
                guard isAccepted else { return }
                start = lineEnd + 1
            }
            guard start > 0 else { return }
            offset += start
        }
    }

    /// Returns the offset of the line that the position names; 0 if the position names no line of the segment.
    private func startOffset(
        in segment: SegmentFiles.ListedSegment, at position: JournalPosition
    ) throws(FileFailure) -> Int {
        guard position.segment == segment.name.first, position.offset > 0 else { return 0 }
        // The file may have been replaced or truncated, so the line before the position is verified.
        let feed = try files.ifPresent { () throws(FileFailure) in
            try files.read(segment.name, from: position.offset - 1, count: 1)
        }
        return feed == [UInt8(ascii: "\n")] ? position.offset : 0
    }
}

/// The state of one read.
private struct Reading {
    private(set) var excerpt: JournalExcerpt
    /// Whether the excerpt is full, or the next line is not on disk yet.
    private(set) var isComplete = false
    private let end: UInt64
    private let bounds: JournalFollower.Bounds
    /// The number after the last line, the hash of that line, and its place in the excerpt; nil before the first one.
    private var last: (number: UInt64, hash: [UInt8], start: Int)?

    init(_ start: JournalPosition, end: UInt64, _ bounds: JournalFollower.Bounds) {
        excerpt = JournalExcerpt(at: start)
        self.end = end
        self.bounds = bounds
    }

    /// Moves the position to a later line, and counts the lines between. A position before the oldest line counts none.
    mutating func skip(to number: UInt64) {
        let next = excerpt.position.next
        guard number > next, number <= end else { return }
        if next > 0 { excerpt.missing += number - next }
        excerpt.position = JournalPosition(before: number)
    }

    /// Removes the last line, which the next one does not continue, so that somebody has changed it and its hash.
    private mutating func retract() {
        guard let last, excerpt.count > 0 else { return }
        excerpt.lines.removeLast(excerpt.lines.count - last.start)
        excerpt.count -= 1
        excerpt.missing += 1
    }

    /// Adds a line. Returns false if no further line of the segment may follow.
    ///
    /// - Parameters:
    ///   - offset: The offset after the line's line feed in its segment.
    ///   - successor: The number of the next segment's first line. Lines from it on belong to a failed write.
    mutating func add(
        _ block: [UInt8], _ range: Range<Int>, of segment: UInt64, endingAt offset: Int, before successor: UInt64
    ) -> Bool {
        guard CheckedLine.isWellFormed(block, range) else { return true }
        let line = JournalLineReader(bytes: block[range])
        guard let number = line.sequence, number >= excerpt.position.next else { return true }
        // A changed line is left out, and counts as missing: receivers get what the gateway signs.
        guard let hash = CheckedLine(block, range).hash else { return true }
        guard number < successor else { return false }
        guard number < end else {
            isComplete = true
            return false
        }
        let length = range.count + 1
        guard excerpt.count < bounds.lines, excerpt.count == 0 || excerpt.lines.count + length <= bounds.bytes else {
            isComplete = true
            return false
        }
        skip(to: number)
        if number == last?.number, line.previous != last?.hash { retract() }
        last = (number + 1, hash, excerpt.lines.count)
        if excerpt.count == 0 { excerpt.firstTime = line.time }
        excerpt.lines += block[range]
        excerpt.lines.append(UInt8(ascii: "\n"))
        excerpt.count += 1
        excerpt.position = JournalPosition(next: number + 1, segment: segment, offset: offset)
        if number + 1 == end || excerpt.count == bounds.lines { isComplete = true }
        return true
    }
}
