internal import GatewaySupport
internal import Glibc

/// Read-only access to the segments of a journal.
struct SegmentFiles: Sendable {
    /// A segment and its size when it was listed.
    struct Found: Sendable, Hashable {
        let name: JournalSegmentName
        let size: UInt64
    }

    let directory: String
    /// The initial size of a block, in bytes. It is small because an index update pauses between blocks and not within
    /// one (``BackgroundThrottle``).
    var blockBytes = 1 << 18

    /// Returns the segments in ascending order. Skips a segment that is removed while they are listed.
    func list() throws(FileFailure) -> [Found] {
        let files = SystemFileSystem()
        var found: [Found] = []
        for name in try files.names(in: directory).compactMap({ JournalSegmentName($0) }).sorted() {
            do throws(FileFailure) {
                found.append(Found(name: name, size: try files.size(path(name))))
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
    /// complete line is left. Reading by blocks bounds the memory used.
    ///
    /// - Parameters:
    ///   - start: The offset of a line's first byte.
    ///   - isGrowing: Whether the segment may still be written to.
    func block(of segment: Found, from start: Int, isGrowing: Bool) throws(FileFailure) -> [UInt8]? {
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
            guard UInt64(start + count) < segment.size else { return nil }
            count *= 2
        }
    }

    /// Returns the complete lines from the offset on, of a segment that may still be written to. Leaves out incomplete
    /// lines and lines that reach beyond `count` bytes.
    ///
    /// - Parameter start: The offset of a line's first byte.
    func lines(_ name: JournalSegmentName, from start: Int, atMost count: Int = .max) throws(FileFailure) -> [UInt8] {
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
    func read(_ name: JournalSegmentName, from start: Int, count: Int = .max) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path(name))
        defer { reader.close() }
        return try reader.read(from: start, count: count)
    }

    func path(_ name: JournalSegmentName) -> String { directory + "/" + name.text }
}
