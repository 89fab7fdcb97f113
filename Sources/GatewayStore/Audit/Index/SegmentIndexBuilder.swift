internal import GatewaySupport
internal import Glibc

/// Collects the lines of one segment and encodes them as a ``SegmentIndex``.
///
/// Lines are added in the order of the segment, block by block. Encoding the same lines always gives the same bytes. A
/// line costs less than a microsecond; the memory is about 60 bytes a line. Confined to one thread.
struct SegmentIndexBuilder {
    /// A line as it is collected. Words are numbered in the order of their appearance.
    private struct Row {
        let number: UInt64
        let time: Int64
        let offset: UInt32
        let length: UInt32
        let shape: UInt32
        let user: UInt32
        let recipient: UInt32
        let call: CallKey
    }

    /// A call's id, or the digest of a text that is not an id.
    private struct CallKey: Equatable {
        let high: UInt64
        let low: UInt64
        let form: Form

        enum Form: UInt8 {
            case missing, id, opaque
        }

        /// The part of the key that the index stores. Equal keys have equal hashes.
        var hash: UInt32 {
            let mixed = (high ^ (low &* 0x9E37_79B9_7F4A_7C15)) &* 0xFF51_AFD7_ED55_8CCD
            return UInt32(truncatingIfNeeded: mixed ^ (mixed >> 33))
        }
    }

    /// The words of a line that few different lines have, as numbers.
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
    /// The offset and the last bytes of the last line, which contain its hash; nil before the first line.
    private(set) var lastLine: (offset: Int, tail: [UInt8])?
    private var rows: [Row] = []
    private var keyedRows: [UInt32] = []
    private var words = WordTable()
    private var shapes: [Shape: UInt32] = [:]
    private var shapeList: [Shape] = []
    private var clock = LineTimestampReader()

    /// The number of bytes at the end of a line that identify it.
    static let tailBytes = 66

    /// Creates a builder for the segment whose first line has the number.
    init(first: UInt64) { self.first = first }

    /// The number of the last collected line; nil before the first one.
    var latestNumber: UInt64? { rows.last?.number }

    /// Adds a block of complete lines that begins at ``bytes``. Lines without a valid number, time and kind are
    /// skipped, and so are lines numbered `end` or above: a failed write left them, and the next segment reuses their
    /// numbers.
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
        func word(_ range: Range<Int>?) -> UInt32 {
            range.map { words.number(of: UnsafeRawBufferPointer(rebasing: block[$0])) } ?? SegmentIndex.none
        }
        let shape = Shape(
            kind: word(kind), action: word(line.action), pns: word(line.pns), result: word(line.result),
            count: line.count)
        if line.hasIdempotencyKey { keyedRows.append(UInt32(rows.count)) }
        rows.append(
            Row(
                number: line.number, time: time, offset: UInt32(offset), length: UInt32(range.count),
                shape: number(of: shape), user: word(line.user), recipient: word(line.recipient),
                call: line.call.map { Self.key(UnsafeRawBufferPointer(rebasing: block[$0])) }
                    ?? CallKey(high: 0, low: 0, form: .missing)))
    }

    private mutating func number(of shape: Shape) -> UInt32 {
        if let number = shapes[shape] { return number }
        let number = UInt32(shapeList.count)
        shapes[shape] = number
        shapeList.append(shape)
        return number
    }

    /// Returns the stored part of a call's key.
    static func hash(ofCall call: [UInt8]) -> UInt32 { call.withUnsafeBytes { key($0).hash } }

    private static func key(_ call: UnsafeRawBufferPointer) -> CallKey {
        if call.count == 32, let high = hexadecimal(call[0..<16]), let low = hexadecimal(call[16..<32]) {
            return CallKey(high: high, low: low, form: .id)
        }
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in call { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return CallKey(high: hash, low: UInt64(call.count), form: .opaque)
    }

    private static func hexadecimal(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt64? {
        var value: UInt64 = 0
        for digit in digits {
            switch digit {
            case 0x30...0x39: value = value << 4 | UInt64(digit - 0x30)
            case 0x61...0x66: value = value << 4 | UInt64(digit - 0x57)
            default: return nil
            }
        }
        return value
    }
}

extension SegmentIndexBuilder {
    /// Encodes the collected lines.
    ///
    /// - Parameters:
    ///   - end: The number of the next segment's first line; nil for a segment that is still written to.
    ///   - size: The size of the segment that the index covers, which includes bytes that are not complete lines.
    func encoded(before end: UInt64?, size: UInt64) -> SegmentIndex.Encoded {
        let order = words.sorted()
        var numbers = [UInt32](repeating: 0, count: order.count)
        for (number, word) in order.enumerated() { numbers[Int(word)] = UInt32(number) }
        func renumbered(_ word: UInt32) -> UInt32 { word == SegmentIndex.none ? word : numbers[Int(word)] }

        let users = Postings(rows.lazy.map { renumbered($0.user) }, words: order.count)
        let recipients = Postings(rows.lazy.map { renumbered($0.recipient) }, words: order.count)
        var calls: [UInt64] = []
        calls.reserveCapacity(rows.count)
        for (number, row) in rows.enumerated() where row.call.form != .missing {
            calls.append(UInt64(row.call.hash) << 32 | UInt64(number))
        }
        calls.sort()

        var header = SegmentIndex.Header()
        header.first = first
        header.end = end ?? 0
        header.bytes = size
        header.earliest = rows.lazy.map(\.time).min() ?? 0
        header.latest = rows.lazy.map(\.time).max() ?? 0
        header.lastTime = rows.last?.time ?? 0
        let unmatched = unmatchedRows(calls)
        // In the order of the sections.
        header.counts = [
            rows.count, users.rows.count, recipients.rows.count, order.count, words.text.count, shapeList.count,
            calls.count, keyedRows.count, unmatched.count,
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
        for (number, word) in order.enumerated() {
            let length = UInt32(words.range(of: word).count)
            writer.append(textStart)
            writer.append(length)
            writer.append(users.starts[number])
            writer.append(recipients.starts[number])
            textStart += length
        }
        for word in order { writer.append(words.text[words.range(of: word)]) }
        for shape in shapeList {
            for word in [shape.kind, shape.action, shape.pns, shape.result] { writer.append(renumbered(word)) }
            writer.append(UInt64(bitPattern: shape.count))
        }
        for call in calls {
            writer.append(UInt32(truncatingIfNeeded: call >> 32))
            writer.append(UInt32(truncatingIfNeeded: call))
        }
        for row in keyedRows { writer.append(row) }
        for row in unmatched { writer.append(row) }
        return writer.finish()
    }

    private var lastStart: Int? {
        let start = words.find("start")
        return start.flatMap { start in rows.lastIndex { shapeList[Int($0.shape)].kind == start } }
    }

    /// Returns the rows of the intents without an outcome in this segment, and of the outcomes without an intent, in
    /// ascending order. A call whose id is not of the gateway's form is never matched.
    private func unmatchedRows(_ calls: [UInt64]) -> [UInt32] {
        let (intent, outcome) = (words.find("intent"), words.find("outcome"))
        let send = words.find("send")
        var unmatched: [UInt32] = []
        var open: [(row: UInt32, call: CallKey, recipient: UInt32)] = []
        var hash: UInt64?
        for entry in calls {
            if entry >> 32 != hash {
                unmatched += open.lazy.map(\.row)
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
            let recipient = shape.action == send ? row.recipient : SegmentIndex.none
            if shape.kind == intent {
                open.append((number, row.call, recipient))
            } else if let index = open.lastIndex(where: { $0.call == row.call && $0.recipient == recipient }) {
                open.remove(at: index)
            } else {
                unmatched.append(number)
            }
        }
        unmatched += open.lazy.map(\.row)
        return unmatched.sorted()
    }
}

/// The rows of each word, grouped by word in ascending order.
private struct Postings {
    private(set) var rows: [UInt32]
    /// The index in ``rows`` of each word's first row.
    private(set) var starts: [UInt32]

    init(_ column: some Sequence<UInt32>, words: Int) {
        var counts = [UInt32](repeating: 0, count: words + 1)
        var total = 0
        for word in column where word != SegmentIndex.none {
            counts[Int(word)] += 1
            total += 1
        }
        var start: UInt32 = 0
        for word in counts.indices {
            (counts[word], start) = (start, start + counts[word])
        }
        starts = Array(counts.dropLast())
        var next = counts
        rows = [UInt32](repeating: 0, count: total)
        for (row, word) in column.enumerated() where word != SegmentIndex.none {
            rows[Int(next[Int(word)])] = UInt32(row)
            next[Int(word)] += 1
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

    /// Returns the words' numbers in ascending order of their bytes.
    func sorted() -> [UInt32] {
        text.withUnsafeBytes { text in
            (0..<UInt32(ends.count)).sorted { left, right in
                Self.isLess(text[range(of: left)], text[range(of: right)])
            }
        }
    }

    private static func isLess(_ left: Slice<UnsafeRawBufferPointer>, _ right: Slice<UnsafeRawBufferPointer>) -> Bool {
        SegmentIndex.compare(UnsafeRawBufferPointer(rebasing: left), UnsafeRawBufferPointer(rebasing: right)) < 0
    }

    private func slot(of word: UnsafeRawBufferPointer) -> Int {
        var hash = Self.seed
        for byte in word { hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 }
        hash ^= hash >> 32
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        text.withUnsafeBytes { text in
            while slots[slot] != SegmentIndex.none {
                let known = UnsafeRawBufferPointer(rebasing: text[range(of: slots[slot])])
                if SegmentIndex.compare(known, word) == 0 { return }
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
