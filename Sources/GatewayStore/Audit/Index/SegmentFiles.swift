internal import GatewaySupport
internal import Glibc

/// Read-only access to the segments of a journal.
struct SegmentFiles: Sendable {
    /// A segment and its size when it was listed. A longer file than any that is written counts as one byte longer than
    /// ``JournalSegment/maximumBytes``, so that neither sums of sizes nor what is read have other bounds.
    struct ListedSegment: Sendable, Hashable {
        let name: JournalSegmentName
        let size: UInt64

        init(name: JournalSegmentName, size: UInt64) {
            (self.name, self.size) = (name, min(size, JournalSegment.maximumBytes + 1))
        }

        /// Whether the file is longer than any that is written.
        var isTooLong: Bool { size > JournalSegment.maximumBytes }
    }

    let directory: String
    /// The initial size of a block, in bytes. It is small because an index update pauses between blocks and not within
    /// one (``BackgroundThrottle``).
    var blockBytes = 1 << 18

    /// Returns the segments in ascending order. Skips a segment that is removed while they are listed.
    func list() throws(FileFailure) -> [ListedSegment] {
        let files = SystemFileSystem()
        var found: [ListedSegment] = []
        for name in JournalSegmentName.segments(among: try files.fileNames(in: directory)) {
            do throws(FileFailure) {
                found.append(ListedSegment(name: name, size: try files.size(path(name))))
            } catch  where error.isMissing {
                continue
            }
        }
        return found
    }

    /// Runs the body and returns its result; nil if the segment has been removed. Retention may remove a segment at any
    /// time.
    func ifPresent<Result>(_ body: () throws(FileFailure) -> Result?) throws(FileFailure) -> Result? {
        do throws(FileFailure) {
            return try body()
        } catch  where error.isMissing {
            return nil
        }
    }

    /// Returns complete lines from the offset on: about one block, or one line that is longer than a block. Nil if no
    /// complete line is left, or the next one is longer than ``SegmentIndex/maximumLineBytes``. Reading by blocks bounds the
    /// memory used.
    ///
    /// - Parameters:
    ///   - start: The offset of a line's first byte.
    ///   - isGrowing: Whether the segment may still be written to.
    func block(of segment: ListedSegment, from start: Int, isGrowing: Bool) throws(FileFailure) -> [UInt8]? {
        // A line never begins with a line feed, so only preallocated ones follow.
        if isGrowing, try read(segment.name, from: start, count: 1) == [UInt8(ascii: "\n")] { return nil }
        var count = blockBytes
        while true {
            let lines: [UInt8]
            if isGrowing {
                lines = try self.lines(segment.name, from: start, atMost: count)
            } else {
                var bytes = try read(segment.name, from: start, count: count)
                let content = JournalContent.endOfLines(in: bytes)
                let end = bytes[..<content].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
                bytes.removeLast(bytes.count - end)
                lines = bytes
            }
            if !lines.isEmpty { return lines }
            guard UInt64(start + count) < segment.size, count < SegmentIndex.maximumLineBytes else { return nil }
            count *= 2
        }
    }

    /// Returns the complete lines from the offset on, of a segment that may still be written to. Leaves out incomplete
    /// lines and lines that reach beyond `count` bytes.
    ///
    /// - Parameter start: The offset of a line's first byte.
    func lines(_ name: JournalSegmentName, from start: Int, atMost count: Int) throws(FileFailure) -> [UInt8] {
        for _ in 1..<Self.attempts {
            let found = CompleteLines(try read(name, from: start, count: count))
            if !found.hasGap { return found.bytes }
            // A read during a write may return a partial line in front of complete lines. Try again.
            usleep(Self.pauseMicroseconds)
        }
        // A gap that persists is damage, which verification reports.
        return CompleteLines(try read(name, from: start, count: count), mayHaveGaps: true).bytes
    }

    private static let attempts = 3
    private static let pauseMicroseconds: UInt32 = 2000

    /// Returns at most `count` bytes from the offset on.
    func read(_ name: JournalSegmentName, from start: Int, count: Int) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path(name))
        defer { reader.close() }
        return try reader.read(from: start, count: count)
    }

    /// Returns the path of a segment.
    func path(_ name: JournalSegmentName) -> String { directory + "/" + name.text }
}

/// The complete lines in the bytes of a segment. If the segment is still written to, its last lines may be incomplete,
/// and a read during a write may return an incomplete line in front of complete ones.
struct CompleteLines {
    /// The bytes from the first line to the end of the last line that counts, with all line feeds.
    let bytes: [UInt8]
    /// Whether a complete line follows an incomplete one.
    let hasGap: Bool

    /// Finds the complete lines.
    ///
    /// - Parameter mayHaveGaps: Whether ``bytes`` ends after the last complete line, also if incomplete lines precede
    ///   it. If false, ``bytes`` ends before the first incomplete line.
    init(_ found: [UInt8], mayHaveGaps: Bool = false) {
        var offset = 0
        var end = 0
        var isBehindAGap = false
        var hasGap = false
        let content = JournalContent.endOfLines(in: found)
        while offset < content, let feed = ChainCheck.endOfLine(in: found, from: offset), feed < content {
            if CheckedLine.isWellFormed(found, offset..<feed) {
                hasGap = hasGap || isBehindAGap
                if !isBehindAGap || mayHaveGaps { end = feed + 1 }
            } else {
                isBehindAGap = true
            }
            offset = feed + 1
        }
        bytes = end == found.count ? found : Array(found[..<end])
        self.hasGap = hasGap
    }
}
