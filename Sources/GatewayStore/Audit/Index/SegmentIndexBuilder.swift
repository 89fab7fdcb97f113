internal import GatewaySupport
internal import Glibc

/// Collects the lines of one segment and encodes them as a ``SegmentIndex``.
///
/// Lines are added in the order of the segment, block by block. Encoding the same lines always gives the same bytes. A
/// line costs about a microsecond; the memory is about 70 bytes a line. Confined to one thread.
struct SegmentIndexBuilder {
    /// A line as it is collected. Names and terms are numbered in the order of their appearance.
    private struct Row {
        let number: UInt64
        let time: Int64
        let offset: UInt32
        let length: UInt32
        let shape: UInt32
        let user: UInt32
        let recipient: UInt32
        let call: SegmentIndex.CallKey
    }

    /// A combination of terms and a count that many lines share. The terms are numbers in `terms`.
    private struct Shape: Hashable {
        let kind: UInt32
        let action: UInt32
        let pns: UInt32
        let result: UInt32
        let count: Int64
    }

    /// The number of the segment's first line.
    let first: UInt64
    /// The number of bytes of the segment that were read.
    private(set) var bytes = 0
    /// The offset and the last bytes of the last line read, which contain its hash, even if the line was skipped; nil
    /// before the first line.
    private(set) var lastLine: (offset: Int, tail: [UInt8])?
    private var rows: [Row] = []
    private var keyedRows: [UInt32] = []
    private var names = WordTable()
    private var terms = WordTable()
    private var shapes: [Shape: UInt32] = [:]
    private var shapeList: [Shape] = []
    private var clock = LineTimestampReader()

    /// The number of bytes at the end of a line that identify it.
    static let tailBytes = 66
    /// The length to which terms are cut. The gateway's own are shorter.
    private static let maximumTermBytes = 255
    private static let maximumCallRanges = 256

    /// Creates a builder for the segment whose first line has the number.
    init(first: UInt64) { self.first = first }

    /// The number of the last collected line; nil before the first one.
    var latestNumber: UInt64? { rows.last?.number }

    /// Adds a block of complete lines that begins at the offset ``bytes`` in the segment. Lines without a valid number,
    /// time and kind are skipped, and so are lines numbered `end` or above: a failed write left them, and the next
    /// segment reuses their numbers.
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
            let time = clock.time(in: UnsafeRawBufferPointer(rebasing: block[at]))
        else { return }
        func text(_ range: Range<Int>) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: block[range]) }
        func term(_ range: Range<Int>?) -> UInt32 {
            range.map { terms.number(of: text($0.prefix(Self.maximumTermBytes))) } ?? SegmentIndex.none
        }
        func name(_ range: Range<Int>?) -> UInt32 { range.map { names.number(of: text($0)) } ?? SegmentIndex.none }
        let shape = Shape(
            kind: term(kind), action: term(line.action), pns: term(line.pns), result: term(line.result),
            count: line.count)
        if line.hasIdempotencyKey { keyedRows.append(UInt32(rows.count)) }
        rows.append(
            Row(
                number: line.number, time: time, offset: UInt32(offset), length: UInt32(range.count),
                shape: number(of: shape), user: name(line.user), recipient: name(line.recipient),
                call: line.call.map { SegmentIndex.CallKey(text($0)) } ?? .missing))
    }

    private mutating func number(of shape: Shape) -> UInt32 {
        if let number = shapes[shape] { return number }
        let number = UInt32(shapeList.count)
        shapes[shape] = number
        shapeList.append(shape)
        return number
    }
}

extension SegmentIndexBuilder {
    /// Encodes the collected lines.
    ///
    /// - Parameters:
    ///   - end: The number of the next segment's first line; nil for a segment that is still written to.
    ///   - size: The size of the segment that the index covers, which includes bytes that are not complete lines.
    func encoded(before end: UInt64?, size: UInt64) -> SegmentIndex.Encoded {
        let order = names.sortedByHash()
        var numbers = [UInt32](repeating: 0, count: order.count)
        for (number, name) in order.enumerated() { numbers[Int(name.number)] = UInt32(number) }
        func renumbered(_ name: UInt32) -> UInt32 { name == SegmentIndex.none ? name : numbers[Int(name)] }

        let users = Postings(rows.lazy.map { renumbered($0.user) }, names: order.count)
        let recipients = Postings(rows.lazy.map { renumbered($0.recipient) }, names: order.count)
        var calls: [UInt64] = []
        calls.reserveCapacity(rows.count)
        for (number, row) in rows.enumerated() where row.call.form != .missing {
            calls.append(UInt64(row.call.hash) << 32 | UInt64(number))
        }
        calls.sort()
        let ranges = callRanges
        let longNames = order.lazy.map { names.range(of: $0.number) }.filter { $0.count > SegmentIndex.inlineBytes }

        var header = SegmentIndex.Header()
        header.first = first
        header.end = end ?? 0
        header.bytes = size
        header.earliest = rows.lazy.map(\.time).min() ?? 0
        header.latest = rows.lazy.map(\.time).max() ?? 0
        header.lastTime = rows.last?.time ?? 0
        if let lastLine { header.lastLine = (UInt64(lastLine.offset), lastLine.tail) }
        let unmatched = unmatchedRows(calls)
        // In the order of the sections.
        header.counts = [
            rows.count, users.rows.count, recipients.rows.count, order.count, longNames.reduce(0) { $0 + $1.count },
            shapeList.count, terms.text.count + terms.count, calls.count, ranges.count, keyedRows.count,
            unmatched.count,
        ]
        if let start = lastStart { header.lastStart = UInt32(start) }
        var writer = SegmentIndexWriter(header)
        for row in rows {
            writer.append(row.number)
            writer.append(UInt64(bitPattern: row.time))
            writer.append(row.offset)
            writer.append(row.length)
            writer.append(row.shape)
            writer.append(renumbered(row.user))
            writer.append(renumbered(row.recipient))
        }
        for row in users.rows { writer.append(row) }
        for row in recipients.rows { writer.append(row) }
        var textStart: UInt32 = 0
        for (number, name) in order.enumerated() {
            let range = names.range(of: name.number)
            writer.append(name.hash)
            writer.append(users.starts[number])
            writer.append(recipients.starts[number])
            writer.append(UInt32(range.count))
            if range.count <= SegmentIndex.inlineBytes {
                writer.append(names.text[range])
                writer.append(zeros: SegmentIndex.inlineBytes - range.count)
            } else {
                writer.append(textStart)
                writer.append(zeros: SegmentIndex.inlineBytes - 4)
                textStart += UInt32(range.count)
            }
        }
        for range in longNames { writer.append(names.text[range]) }
        for shape in shapeList {
            for term in [shape.kind, shape.action, shape.pns, shape.result] { writer.append(term) }
            writer.append(UInt64(bitPattern: shape.count))
        }
        for term in 0..<UInt32(terms.count) {
            let range = terms.range(of: term)
            writer.append(UInt8(range.count))
            writer.append(terms.text[range])
        }
        for call in calls {
            writer.append(UInt32(truncatingIfNeeded: call >> 32))
            writer.append(UInt32(truncatingIfNeeded: call))
        }
        for range in ranges { for number in [range.high, range.lowest, range.highest] { writer.append(number) } }
        for row in keyedRows { writer.append(row) }
        for row in unmatched { writer.append(row) }
        return writer.finish()
    }

    /// The ranges of the calls' ids. Each id generator counts within its own range of numbers, so a few ranges cover
    /// the ids in a segment.
    private var callRanges: [CallRange] {
        var ranges: [CallRange] = []
        for row in rows where row.call.form == .id {
            let (high, low) = (row.call.high, row.call.low)
            // The range of the line before is usually the right one.
            if let last = ranges.lastIndex(where: { $0.high == high && $0.lowest >> 40 == low >> 40 }) {
                ranges[last].lowest = min(ranges[last].lowest, low)
                ranges[last].highest = max(ranges[last].highest, low)
            } else if ranges.count < Self.maximumCallRanges {
                ranges.append(CallRange(high: high, lowest: low, highest: low))
            } else {
                // Only forged lines have so many. Without ranges, every call is looked up.
                return []
            }
        }
        return ranges
    }

    private struct CallRange {
        let high: UInt64
        var lowest: UInt64
        var highest: UInt64
    }

    private var lastStart: Int? {
        let start = terms.find("start")
        return start.flatMap { start in rows.lastIndex { shapeList[Int($0.shape)].kind == start } }
    }

    /// What an intent and its outcome have in common.
    private struct MatchKey: Hashable {
        let high: UInt64
        let low: UInt64
        /// The recipient of a send. A send to an audience has an intent for each.
        let recipient: UInt32
    }

    /// Returns the rows of the intents without an outcome in this segment, and of the outcomes without an intent, in
    /// ascending order. A call whose id is not of the gateway's form is never matched.
    private func unmatchedRows(_ calls: [UInt64]) -> [UInt32] {
        let (intent, outcome) = (terms.find("intent"), terms.find("outcome"))
        let send = terms.find("send")
        var unmatched: [UInt32] = []
        // The intents without an outcome so far, of the calls with one hash.
        var open: [MatchKey: [UInt32]] = [:]
        var hash: UInt64?
        for entry in calls {
            if entry >> 32 != hash {
                for rows in open.values { unmatched += rows }
                open.removeAll(keepingCapacity: true)
                hash = entry >> 32
            }
            let number = UInt32(truncatingIfNeeded: entry)
            let row = rows[Int(number)]
            let shape = shapeList[Int(row.shape)]
            guard shape.kind == intent || shape.kind == outcome else { continue }
            guard row.call.form == .id else {
                unmatched.append(number)
                continue
            }
            let key = MatchKey(
                high: row.call.high, low: row.call.low,
                recipient: shape.action == send ? row.recipient : SegmentIndex.none)
            if shape.kind == intent {
                open[key, default: []].append(number)
            } else if open[key]?.popLast() == nil {
                unmatched.append(number)
            }
        }
        for rows in open.values { unmatched += rows }
        return unmatched.sorted()
    }
}

/// The rows of each name, grouped by name in ascending order.
private struct Postings {
    private(set) var rows: [UInt32]
    /// The index in ``rows`` of each name's first row.
    private(set) var starts: [UInt32]

    init(_ column: some Sequence<UInt32>, names: Int) {
        var counts = [UInt32](repeating: 0, count: names + 1)
        var total = 0
        for name in column where name != SegmentIndex.none {
            counts[Int(name)] += 1
            total += 1
        }
        var start: UInt32 = 0
        for name in counts.indices {
            (counts[name], start) = (start, start + counts[name])
        }
        starts = Array(counts.dropLast())
        var next = counts
        rows = [UInt32](repeating: 0, count: total)
        for (row, name) in column.enumerated() where name != SegmentIndex.none {
            rows[Int(next[Int(name)])] = UInt32(row)
            next[Int(name)] += 1
        }
    }
}

/// The distinct words of a segment, numbered in the order of their appearance. An open-addressing hash table with a
/// seed that is random in each process, because users choose some of the words.
private struct WordTable {
    private(set) var text: [UInt8] = []
    private var ends: [UInt32] = []
    private var slots = [UInt32](repeating: SegmentIndex.none, count: 256)
    private static let seed = UInt64.random(in: .min ... .max)

    /// Returns the number of the word; adds it if it is new.
    mutating func number(of word: UnsafeRawBufferPointer) -> UInt32 {
        let slot = slot(of: word)
        if slots[slot] != SegmentIndex.none { return slots[slot] }
        let number = UInt32(ends.count)
        text.append(contentsOf: word)
        ends.append(UInt32(text.count))
        slots[slot] = number
        if ends.count * 2 > slots.count { grow() }
        return number
    }

    /// Returns the number of the word; nil if the table lacks it.
    func find(_ word: StaticString) -> UInt32? {
        let number = slots[slot(of: UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))]
        return number == SegmentIndex.none ? nil : number
    }

    /// The range of a word's text.
    func range(of number: UInt32) -> Range<Int> {
        (number == 0 ? 0 : Int(ends[Int(number) - 1]))..<Int(ends[Int(number)])
    }

    /// The number of words.
    var count: Int { ends.count }

    /// Returns the words in ascending order of their hashes, and of their texts if hashes are equal.
    func sortedByHash() -> [(hash: UInt32, number: UInt32)] {
        text.withUnsafeBytes { text in
            let hashed = (0..<UInt32(ends.count)).map { number in
                (
                    hash: SegmentIndex.hash(of: UnsafeRawBufferPointer(rebasing: text[range(of: number)])),
                    number: number
                )
            }
            return hashed.sorted { left, right in
                left.hash != right.hash
                    ? left.hash < right.hash
                    : text[range(of: left.number)].lexicographicallyPrecedes(text[range(of: right.number)])
            }
        }
    }

    private func slot(of word: UnsafeRawBufferPointer) -> Int {
        var hash = Self.seed ^ UInt64(word.count)
        var rest = word.count
        while rest >= 8 {
            rest -= 8
            hash = (hash ^ word.loadUnaligned(fromByteOffset: rest, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 32
        }
        for byte in word.prefix(rest) { hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 }
        // Each bit of the slot depends on every bit of the word.
        hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        hash ^= hash >> 32
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        text.withUnsafeBytes { text in
            while slots[slot] != SegmentIndex.none {
                let known = UnsafeRawBufferPointer(rebasing: text[range(of: slots[slot])])
                if known.count == word.count {
                    guard let start = known.baseAddress, let other = word.baseAddress else { return }
                    if memcmp(start, other, word.count) == 0 { return }
                }
                slot = (slot + 1) & (slots.count - 1)
            }
        }
        return slot
    }

    private mutating func grow() {
        slots = [UInt32](repeating: SegmentIndex.none, count: slots.count * 2)
        for number in 0..<UInt32(ends.count) {
            let slot = text.withUnsafeBytes { text in
                self.slot(of: UnsafeRawBufferPointer(rebasing: text[range(of: number)]))
            }
            slots[slot] = number
        }
    }
}
