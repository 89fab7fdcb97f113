internal import GatewaySupport
internal import Glibc

/// Collects the lines of one segment and encodes them as a ``SegmentIndex``.
///
/// Lines are added in the order of the segment, block by block. Encoding the same lines always gives the same bytes. A
/// line costs about a microsecond; the memory is about 70 bytes a line. Confined to one thread.
struct SegmentIndexBuilder {
    /// A line as it is collected. Names and terms are numbered in the order of their appearance.
    struct Row {
        let number: UInt64
        let time: Int64
        let offset: UInt32
        let length: UInt32
        let shape: UInt32
        let user: UInt32
        let recipient: UInt32
        let call: SegmentIndex.CallKey
    }

    /// A combination of terms, a count and a class of durations that many lines share. The terms are numbers in `terms`.
    struct Shape: Hashable {
        let kind: UInt32
        let action: UInt32
        let pns: UInt32
        let result: UInt32
        let count: Int64
        /// The number of the bucket of ``LatencyBuckets``; ``SegmentIndex/none`` for a line without a duration.
        let latency: UInt32
    }

    /// The number of the segment's first line.
    let first: UInt64
    /// The number of bytes of the segment that were read.
    private(set) var bytes = 0
    /// The offset and the last bytes of the last line read, which contain its hash, even if the line was skipped; nil
    /// before the first line.
    private(set) var lastLine: (offset: Int, tail: [UInt8])?
    var rows: [Row] = []
    var keyedRows: [UInt32] = []
    var names = WordTable()
    var terms = WordTable()
    private var shapes: [Shape: UInt32] = [:]
    var shapeList: [Shape] = []
    private var clock = LineTimestampReader()
    private var order: LineOrder

    /// The number of bytes at the end of a line that identify it.
    static let tailBytes = 66
    /// The length to which terms are cut. The gateway's own are shorter.
    private static let maximumTermBytes = 255
    static let maximumCallRanges = 256

    /// Creates a builder for the segment whose first line has the number.
    init(first: UInt64) {
        self.first = first
        // The end is not known while the segment is written.
        order = LineOrder(from: first, before: nil)
    }

    /// The number of the last collected line; nil before the first one.
    var latestNumber: UInt64? { rows.last?.number }

    /// Adds a block of complete lines that begins at the offset ``bytes`` in the segment. Lines without a valid number,
    /// time and kind are skipped, and so are those that do not count (``LineOrder``), such as lines numbered `end` or
    /// above: a failed write left them, and the next segment reuses their numbers.
    ///
    /// - Throws: If the segment is too long for the index.
    mutating func add(_ block: [UInt8], before end: UInt64?) throws(AuditIndex.Failure) {
        guard bytes + block.count <= Int(UInt32.max) else { throw AuditIndex.Failure("a segment is too long to index") }
        let start = bytes
        var last: Range<Int>?
        block.withUnsafeBytes { block in
            var offset = 0
            while let base = block.baseAddress, offset < block.count,
                let feed = memchr(base + offset, 10, block.count - offset)
            {
                let lineEnd = UnsafeRawPointer(feed) - base
                add(block, offset..<lineEnd, at: start + offset, before: end)
                if lineEnd > offset { last = offset..<lineEnd }
                offset = lineEnd + 1
            }
        }
        bytes += block.count
        if let last { lastLine = (start + last.lowerBound, Array(block[last].suffix(Self.tailBytes))) }
    }

    private mutating func add(
        _ block: UnsafeRawBufferPointer, _ range: Range<Int>, at offset: Int, before end: UInt64?
    ) {
        guard let line = IndexedLine(block, range), line.number < end ?? .max, let at = line.at, let kind = line.kind,
            let time = clock.time(in: UnsafeRawBufferPointer(rebasing: block[at])), order.accepts(line.number)
        else { return }
        func text(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: block[range]) }
        func term(_ range: Range<Int>?) -> UInt32 {
            range.map { terms.number(of: text($0.prefix(Self.maximumTermBytes))) } ?? SegmentIndex.none
        }
        func name(_ range: Range<Int>?) -> UInt32 { range.map { names.number(of: text($0)) } ?? SegmentIndex.none }
        let shape = Shape(
            kind: term(kind), action: term(line.action), pns: term(line.pns), result: term(line.result),
            count: line.count,
            latency: line.milliseconds.map { UInt32(LatencyBuckets.bucket(of: $0)) } ?? SegmentIndex.none)
        if line.hasIdempotencyKey { keyedRows.append(UInt32(rows.count)) }
        rows.append(
            Row(
                number: line.number, time: time, offset: UInt32(offset), length: UInt32(range.count),
                shape: number(of: shape), user: name(line.user), recipient: name(line.recipient),
                call: line.call.map { SegmentIndex.CallKey(text($0)) } ?? .missing))
    }

    /// Returns a builder that has only the lines in the range of ``rows``, and only their names and shapes.
    func excerpt(_ range: Range<Int>) -> SegmentIndexBuilder {
        var part = SegmentIndexBuilder(first: first)
        part.rows.reserveCapacity(range.count)
        var newNames = [UInt32](repeating: SegmentIndex.none, count: names.count)
        var newShapes = [UInt32](repeating: SegmentIndex.none, count: shapeList.count)
        func name(_ old: UInt32) -> UInt32 {
            guard old != SegmentIndex.none else { return old }
            if newNames[Int(old)] == SegmentIndex.none {
                newNames[Int(old)] = part.names.number(of: old, in: names)
            }
            return newNames[Int(old)]
        }
        func term(_ old: UInt32) -> UInt32 {
            old == SegmentIndex.none ? old : part.terms.number(of: old, in: terms)
        }
        for row in rows[range] {
            if newShapes[Int(row.shape)] == SegmentIndex.none {
                let old = shapeList[Int(row.shape)]
                newShapes[Int(row.shape)] = part.number(
                    of: Shape(
                        kind: term(old.kind), action: term(old.action), pns: term(old.pns), result: term(old.result),
                        count: old.count, latency: old.latency))
            }
            part.rows.append(
                Row(
                    number: row.number, time: row.time, offset: row.offset, length: row.length,
                    shape: newShapes[Int(row.shape)], user: name(row.user), recipient: name(row.recipient),
                    call: row.call))
        }
        return part
    }

    private mutating func number(of shape: Shape) -> UInt32 {
        if let number = shapes[shape] { return number }
        let number = UInt32(shapeList.count)
        shapes[shape] = number
        shapeList.append(shape)
        return number
    }
}
