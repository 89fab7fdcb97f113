internal import GatewaySupport
internal import Glibc

/// The last lines of a journal and the lines appended after them, read from the segments.
///
/// A line is visible once it is written completely, which is a moment before it is synchronized to disk. A line of a
/// write that fails later is visible too.
public struct JournalTail: Sendable {
    private let files: SegmentFiles
    private var segment: JournalSegmentName?
    private var offset = 0
    /// The number after the last line returned.
    private var expected: UInt64 = 0

    /// The number of bytes at a segment's end that are searched for the last lines.
    private static let reach = 4 << 20

    /// Creates a tail of the journal in the directory. It starts at the journal's present end.
    public init(directory: String) { files = SegmentFiles(directory: directory) }

    /// Returns at most `count` of the last lines, in order. `next` continues after them. Blocks.
    public mutating func last(_ count: Int) throws(AuditIndex.Failure) -> [[UInt8]] {
        do {
            let segments = try files.list()
            var found: [[UInt8]] = []
            var end: UInt64?
            for present in segments.reversed() {
                guard
                    let (start, bytes) = try files.ifPresent({ () throws(FileFailure) in
                        let start = try beginning(of: present)
                        return (start, try files.lines(present.name, from: start, atMost: Self.reach))
                    })
                else { continue }
                if segment == nil { (segment, offset) = (present.name, start + bytes.count) }
                var order = LineOrder(from: present.name.first, before: end)
                for line in order.lines(in: bytes).suffix(count - found.count).reversed() { found.append(Array(line)) }
                expected = max(expected, order.next)
                end = present.name.first
                if found.count >= count { break }
            }
            return found.reversed()
        } catch {
            throw AuditIndex.Failure(error)
        }
    }

    /// Returns the offset of the first line that is searched.
    private func beginning(of present: SegmentFiles.ListedSegment) throws(FileFailure) -> Int {
        let start = Int(clamping: present.size) - Self.reach
        guard start > 0 else { return 0 }
        let bytes = try files.read(present.name, from: start, count: Self.reach)
        return start + (bytes.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count)
    }

    /// Returns the lines appended since the last call. Blocks only for the time of reading.
    public mutating func next() throws(AuditIndex.Failure) -> [[UInt8]] {
        do {
            var found: [[UInt8]] = []
            let segments = try files.list()
            for (index, present) in segments.enumerated() where present.name >= segment ?? present.name {
                if present.name != segment { (segment, offset) = (present.name, 0) }
                let end = index + 1 < segments.count ? segments[index + 1].name.first : nil
                var order = LineOrder(from: max(expected, present.name.first), before: end)
                while present.size > UInt64(offset) {
                    let bytes = try files.ifPresent { () throws(FileFailure) in
                        try files.lines(present.name, from: offset, atMost: Self.reach)
                    }
                    guard let bytes, !bytes.isEmpty else { break }
                    found += order.lines(in: bytes).map { Array($0) }
                    offset += bytes.count
                }
                expected = order.next
            }
            return found
        } catch {
            throw AuditIndex.Failure(error)
        }
    }
}
