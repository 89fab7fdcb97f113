internal import GatewaySupport

/// Reads an index for one query. Keeps the pages that it has read. Confined to one thread.
final class SegmentIndexReader {
    let index: SegmentIndex
    private var pages: [Int: [UInt8]] = [:]
    private var last: (number: Int, bytes: [UInt8])?
    private var file: SegmentReader?
    /// The offset of each section behind the header.
    private let starts: [Int]

    init(_ index: SegmentIndex) {
        self.index = index
        starts = SegmentIndex.Section.allCases.map { index.header.offset(of: $0) - SegmentIndex.headerBytes }
    }

    deinit { file?.close() }

    private var damage: AuditIndex.Failure { AuditIndex.Failure(damaged: index.header.first) }

    /// Returns the row.
    func row(_ number: UInt32) throws -> SegmentIndex.Row {
        let row = try element(.rows, Int(number)) { bytes in
            LineNumber(bytes.number(at: 0)).map { number in
                SegmentIndex.Row(
                    number: number.value, time: Int64(bitPattern: bytes.number(at: 8)),
                    offset: Int(bytes.number(at: 16) as UInt32), length: Int(bytes.number(at: 20) as UInt32),
                    shape: Int(bytes.number(at: 24) as UInt32), user: bytes.number(at: 28),
                    recipient: bytes.number(at: 32))
            }
        }
        guard let row else { throw damage }
        return row
    }

    /// Returns all shapes.
    func shapes() throws -> [SegmentIndex.Shape] {
        var terms: [String] = []
        var rest = try bytes(.terms, 0..<index.header.count(of: .terms))[...]
        while let length = rest.popFirst() {
            terms.append(String(decoding: rest.prefix(Int(length)), as: UTF8.self))
            rest = rest.dropFirst(Int(length))
        }
        func term(_ number: UInt32) throws -> String? {
            if number == SegmentIndex.none { return nil }
            guard terms.indices.contains(Int(number)) else { throw damage }
            return terms[Int(number)]
        }
        return try (0..<index.header.count(of: .shapes)).map { number in
            let words = try element(.shapes, number) { bytes in (0..<4).map { bytes.number(at: $0 * 4) as UInt32 } }
            let latency = try element(.shapes, number) { $0.number(at: 24) as UInt32 }
            let count = try element(.shapes, number) { Int64(bitPattern: $0.number(at: 16)) }
            guard latency == SegmentIndex.none || latency < UInt32(LatencyBuckets.count),
                JournalLineReader.counts.contains(count)
            else { throw damage }
            return SegmentIndex.Shape(
                kind: try term(words[0]), action: try term(words[1]), pns: try term(words[2]),
                result: try term(words[3]), count: count,
                latency: latency == SegmentIndex.none ? nil : Int(latency))
        }
    }

    /// Returns the number of the name; nil if no line has it.
    func name(_ text: String) throws -> UInt32? {
        let wanted = Array(text.utf8)
        let hash = wanted.withUnsafeBytes(SegmentIndex.hash(of:))
        var number = try firstElement(.names, notBelow: hash)
        while number < index.header.count(of: .names), try entry(UInt32(number)).hash == hash {
            if try self.text(ofName: UInt32(number)) == wanted { return UInt32(number) }
            number += 1
        }
        return nil
    }

    /// Returns the text of a name.
    func text(ofName number: UInt32) throws -> [UInt8] {
        let length = Int(try entry(number).length)
        if length <= SegmentIndex.inlineBytes {
            return try element(.names, Int(number)) { Array($0[16..<(16 + length)]) }
        }
        let start = try element(.names, Int(number)) { Int($0.number(at: 16) as UInt32) }
        guard start + length <= index.header.count(of: .text) else { throw damage }
        return try bytes(.text, start..<(start + length))
    }

    /// Returns the rows whose caller has the name, in ascending order.
    func rows(ofUser name: UInt32) throws -> [UInt32] { try rows(.users, name, \.users) }

    /// Returns the rows whose recipient has the name, in ascending order.
    func rows(ofRecipient name: UInt32) throws -> [UInt32] { try rows(.recipients, name, \.recipients) }

    /// Returns the rows that may belong to the call, in ascending order. The caller compares the id of each line.
    func rows(ofCall call: SegmentIndex.CallKey) throws -> [UInt32] {
        guard try mayContain(call) else { return [] }
        let wanted = call.hash
        let count = index.header.count(of: .calls)
        var number = try firstElement(.calls, notBelow: wanted)
        var rows: [UInt32] = []
        while number < count {
            let (hash, row): (UInt32, UInt32) = try element(.calls, number) { ($0.number(at: 0), $0.number(at: 4)) }
            guard hash == wanted else { break }
            rows.append(row)
            number += 1
        }
        return rows
    }

    private lazy var callRanges: Result<[(high: UInt64, low: ClosedRange<UInt64>)], any Error> = Result {
        try (0..<index.header.count(of: .callRanges)).map { number in
            try element(.callRanges, number) { bytes in
                let (low, high): (UInt64, UInt64) = (bytes.number(at: 8), bytes.number(at: 16))
                return (bytes.number(at: 0), low...max(low, high))
            }
        }
    }

    private func mayContain(_ call: SegmentIndex.CallKey) throws -> Bool {
        guard call.form == .id else { return true }
        let ranges = try callRanges.get()
        return ranges.isEmpty || ranges.contains { $0.high == call.high && $0.low.contains(call.low) }
    }

    /// Returns the number of the first element whose hash, which comes first in it, is not below the given one.
    /// Estimates its position, because hashes are distributed evenly; few pages are read therefore.
    private func firstElement(_ section: SegmentIndex.Section, notBelow hash: UInt32) throws -> Int {
        func isBelow(_ number: Int) throws -> Bool {
            try element(section, number) { $0.number(at: 0) as UInt32 } < hash
        }
        let count = index.header.count(of: section)
        let estimate = Int(UInt64(hash) * UInt64(count) >> 32)
        var step = 1 + Int(Double(count).squareRoot()) / 2
        var (low, high) = (estimate, estimate)
        // No element before `low` may be the result, and `high` may be.
        while low > 0, try !isBelow(low - 1) {
            high = low - 1
            low = max(0, low - step)
            step *= 2
        }
        while high < count, try isBelow(high) {
            low = high + 1
            high = min(count, high + step)
            step *= 2
        }
        while low < high {
            let middle = (low + high) / 2
            if try isBelow(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Returns the rows in a section that lists rows.
    func rows(in section: SegmentIndex.Section) throws -> [UInt32] {
        try numbers(section, 0..<index.header.count(of: section))
    }

    private struct Entry {
        let hash: UInt32
        let users: UInt32
        let recipients: UInt32
        let length: UInt32
    }

    private func entry(_ name: UInt32) throws -> Entry {
        try element(.names, Int(name)) { bytes in
            Entry(
                hash: bytes.number(at: 0), users: bytes.number(at: 4), recipients: bytes.number(at: 8),
                length: bytes.number(at: 12))
        }
    }

    private func rows(
        _ section: SegmentIndex.Section, _ name: UInt32, _ start: KeyPath<Entry, UInt32>
    ) throws -> [UInt32] {
        let first = Int(try entry(name)[keyPath: start])
        let isLast = Int(name) + 1 == index.header.count(of: .names)
        let end = isLast ? index.header.count(of: section) : Int(try entry(name + 1)[keyPath: start])
        guard first <= end, end <= index.header.count(of: section) else { throw damage }
        return try numbers(section, first..<end)
    }

    private func numbers(_ section: SegmentIndex.Section, _ range: Range<Int>) throws -> [UInt32] {
        let bytes = try bytes(section, (range.lowerBound * 4)..<(range.upperBound * 4))
        return bytes.withUnsafeBytes { bytes in range.indices.map { bytes.number(at: ($0 - range.lowerBound) * 4) } }
    }

    private func element<Value>(
        _ section: SegmentIndex.Section, _ number: Int, _ decode: (UnsafeRawBufferPointer) -> Value
    ) throws -> Value {
        guard (0..<index.header.count(of: section)).contains(number) else { throw damage }
        let start = starts[section.rawValue] + number * section.elementBytes
        let (page, offset) = start.quotientAndRemainder(dividingBy: SegmentIndex.pageBytes)
        if offset + section.elementBytes <= SegmentIndex.pageBytes {
            return try self.page(page).withUnsafeBytes { bytes in
                decode(UnsafeRawBufferPointer(rebasing: bytes[offset..<(offset + section.elementBytes)]))
            }
        }
        let range = (number * section.elementBytes)..<((number + 1) * section.elementBytes)
        return try bytes(section, range).withUnsafeBytes(decode)
    }

    /// Returns bytes of a section.
    private func bytes(_ section: SegmentIndex.Section, _ range: Range<Int>) throws -> [UInt8] {
        var start = starts[section.rawValue] + range.lowerBound
        let end = start + range.count
        var found: [UInt8] = []
        found.reserveCapacity(range.count)
        while start < end {
            let (page, offset) = start.quotientAndRemainder(dividingBy: SegmentIndex.pageBytes)
            let bytes = try self.page(page)
            let part = bytes[offset..<min(bytes.count, offset + end - start)]
            guard !part.isEmpty else { throw damage }
            found += part
            start += part.count
        }
        return found
    }

    private func page(_ number: Int) throws -> [UInt8] {
        if let last, last.number == number { return last.bytes }
        let bytes: [UInt8]
        if let known = pages[number] {
            bytes = known
        } else {
            if file == nil { file = try index.open() }
            bytes = try index.page(number, file)
            pages[number] = bytes
        }
        last = (number, bytes)
        return bytes
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the little-endian number at the offset.
    func number<Number: FixedWidthInteger>(at offset: Int) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}
