internal import GatewaySupport
internal import Glibc

/// The index of one segment: a row for each line, and the rows of each user, recipient and call.
///
/// The format, in little-endian numbers: a header of ``headerBytes``, the sections in the order of ``Section``, and a
/// table with a digest of each page of the sections. The index of a closed segment is a file and never changes; that of
/// the segment in use is kept in memory. A file is complete on disk before it gets its name. Every page that is read from
/// it is compared with its digest, so that damage of any kind is found before it affects a result. Safe to use from any
/// thread.
final class SegmentIndex: Sendable {
    /// The number that stands for a missing name, term or row.
    static let none = UInt32.max
    /// The length of the header.
    static let headerBytes = 256
    /// The length of a page.
    static let pageBytes = 4096
    /// The maximum length of a line in bytes. A greater length in an index means that the index is damaged.
    static let maximumLineBytes = 1 << 26
    /// The length of a page's digest in the table.
    static let digestBytes = 8

    /// The parts of an index, in the order of the file. Each is an array of elements of a fixed length.
    enum Section: Int, CaseIterable {
        /// The lines: number, time, offset, length, shape, user, recipient.
        case rows
        /// The rows of each user, and of each recipient, in ascending order.
        case users, recipients
        /// The names of users and recipients in ascending order of their hashes: hash, the first of the user's and of
        /// the recipient's rows, length, and the text itself if it has at most 32 bytes, otherwise its start in `text`.
        case names
        /// The texts of long names.
        case text
        /// The combinations of kind, action, push service, result and count. The first four are numbers of terms.
        case shapes
        /// The terms: the length in one byte, and the text.
        case terms
        /// The calls: hash of the id, and row, in ascending order.
        case calls
        /// The ranges of the calls' ids: the first half, and the lowest and the highest second half. Empty if there are
        /// too many.
        case callRanges
        /// The rows of sends with an idempotency key.
        case keyed
        /// The rows of intents and outcomes that have no counterpart in the segment.
        case unmatched

        /// The length of an element in bytes.
        var elementBytes: Int {
            switch self {
            case .rows: 36
            case .names: 48
            case .shapes, .callRanges: 24
            case .calls: 8
            case .users, .recipients, .keyed, .unmatched: 4
            case .text, .terms: 1
            }
        }
    }

    /// What the index states about the segment as a whole.
    struct Header: Sendable {
        /// The number of the segment's first line.
        var first: UInt64 = 0
        /// The number of the next segment's first line; 0 if the segment is still written to.
        var end: UInt64 = 0
        /// The number of the segment's bytes that are indexed.
        var bytes: UInt64 = 0
        /// The earliest and the latest time of a line, and the time of the last one, in microseconds since 1970.
        var earliest: Int64 = 0, latest: Int64 = 0, lastTime: Int64 = 0
        /// The offset and the last bytes of the last line read, which contain its hash. They tell whether the index is of
        /// this segment: the hash covers all lines before it.
        var lastLine: (offset: UInt64, tail: [UInt8]) = (0, [])
        /// The row of the last `start` record; ``SegmentIndex/none`` if there is none.
        var lastStart = SegmentIndex.none
        /// The number of elements of each section.
        var counts = [Int](repeating: 0, count: Section.allCases.count)

        /// The number of elements of a section.
        func count(of section: Section) -> Int { counts[section.rawValue] }

        /// The offset of a section in the file.
        func offset(of section: Section) -> Int {
            Section.allCases.prefix(section.rawValue).reduce(headerBytes) { $0 + count(of: $1) * $1.elementBytes }
        }

        /// The length of all sections.
        var sectionBytes: Int { Section.allCases.reduce(0) { $0 + count(of: $1) * $1.elementBytes } }

        /// Whether a segment of the stated length can have an index of this length. A forged header must not make a
        /// reader allocate more.
        var isPlausible: Bool { bytes <= UInt64(UInt32.max) && UInt64(sectionBytes) <= 2 * bytes + 65_536 }

        /// The number of pages of the sections.
        var pages: Int { (sectionBytes + pageBytes - 1) / pageBytes }
    }

    /// An index as it is stored.
    struct Encoded: Sendable {
        let header: Header
        /// All bytes of the file.
        let bytes: [UInt8]
    }

    /// A line as the index describes it.
    struct Row {
        let number: UInt64
        /// Microseconds since 1970.
        let time: Int64
        let offset: Int
        let length: Int
        let shape: Int
        let user: UInt32
        let recipient: UInt32
    }

    /// The members of a line that many lines have in common.
    struct Shape {
        let kind: String?
        let action: String?
        let pns: String?
        let result: String?
        let count: Int64
    }

    let header: Header
    private let storage: Storage

    private enum Storage {
        case memory([UInt8])
        case file(path: String, digests: [UInt8])
    }

    /// Creates the index of a segment that is still written to, or of one whose index is compared with the file.
    init(_ encoded: Encoded) {
        header = encoded.header
        storage = .memory(encoded.bytes)
    }

    /// Reads the header and the digests of an index's file, and checks them. Keeps no file open: a journal may have more
    /// segments than a process may have open files.
    ///
    /// - Throws: `FileFailure` if the file cannot be read, and a failure with the segment if it is damaged.
    init(_ path: String, first: UInt64) throws {
        let reader = try SegmentReader(path)
        defer { reader.close() }
        guard let header = Header(try reader.read(from: 0, count: Self.headerBytes)), header.first == first,
            header.isPlausible
        else { throw AuditIndex.Failure(damaged: first) }
        let length = header.pages * Self.digestBytes + Header.digestBytes
        let digests = try reader.read(from: Self.headerBytes + header.sectionBytes, count: length + 1)
        guard digests.count == length,
            Header.digest(digests.dropLast(Header.digestBytes)) == Array(digests.suffix(Header.digestBytes))
        else { throw AuditIndex.Failure(damaged: first) }
        self.header = header
        storage = .file(path: path, digests: digests)
    }

    /// Opens the file for the pages of one query; nil for an index in memory. A file that another process has removed
    /// counts as damaged.
    fileprivate func open() throws -> SegmentReader? {
        guard case .file(let path, _) = storage else { return nil }
        do throws(FileFailure) {
            return try SegmentReader(path)
        } catch  where error.isMissing {
            throw AuditIndex.Failure(damaged: header.first, "was removed")
        }
    }

    /// Returns the bytes of a page of the sections. Throws if a page of a file does not match its digest.
    fileprivate func page(_ number: Int, _ reader: SegmentReader?) throws -> [UInt8] {
        let start = Self.headerBytes + number * Self.pageBytes
        let length = min(Self.pageBytes, Self.headerBytes + header.sectionBytes - start)
        guard number >= 0, length > 0 else { throw AuditIndex.Failure(damaged: header.first) }
        switch storage {
        case .memory(let bytes):
            return Array(bytes[start..<(start + length)])
        case .file(_, let digests):
            let bytes = try reader?.read(from: start, count: length) ?? []
            let digest = digests[(number * Self.digestBytes)..<((number + 1) * Self.digestBytes)]
            guard bytes.count == length, Self.digest(bytes[...]).elementsEqual(digest) else {
                throw AuditIndex.Failure(damaged: header.first)
            }
            return bytes
        }
    }

    /// Returns the digest of a page.
    static func digest(_ page: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digest = page.withUnsafeBytes(SHA256.Digest.init(of:))?.bytes ?? []
        return digest.prefix(digestBytes)
    }

    /// The longest text that is stored with its name.
    static let inlineBytes = 32

    /// Returns the hash by which names are ordered. It is the same in every process (FNV-1a).
    static func hash(of name: UnsafeRawBufferPointer) -> UInt32 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        // The upper bits of FNV-1a depend on all bytes.
        return UInt32(truncatingIfNeeded: (hash ^ (hash >> 29)) >> 8)
    }
}

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
        try element(.rows, Int(number)) { bytes in
            SegmentIndex.Row(
                number: bytes.number(at: 0), time: Int64(bitPattern: bytes.number(at: 8)),
                offset: Int(bytes.number(at: 16) as UInt32), length: Int(bytes.number(at: 20) as UInt32),
                shape: Int(bytes.number(at: 24) as UInt32), user: bytes.number(at: 28), recipient: bytes.number(at: 32))
        }
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
            return SegmentIndex.Shape(
                kind: try term(words[0]), action: try term(words[1]), pns: try term(words[2]),
                result: try term(words[3]),
                count: try element(.shapes, number) { Int64(bitPattern: $0.number(at: 16)) })
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
    fileprivate func number<Number: FixedWidthInteger>(at offset: Int) -> Number {
        Number(littleEndian: loadUnaligned(fromByteOffset: offset, as: Number.self))
    }
}

extension SegmentIndex.Header {
    static let digestBytes = 16
    private static let title = Array("NGidx001".utf8)

    /// Returns the digest of a part of the file other than a page.
    static func digest(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        Array((bytes.withUnsafeBytes(SHA256.Digest.init(of:))?.bytes ?? []).prefix(digestBytes))
    }

    /// The header as it is stored.
    var encoded: [UInt8] {
        var bytes = Self.title
        func append(_ number: some FixedWidthInteger) { withUnsafeBytes(of: number.littleEndian) { bytes += $0 } }
        for number in [first, end, self.bytes] { append(number) }
        for time in [earliest, latest, lastTime] { append(time) }
        append(lastStart)
        for section in SegmentIndex.Section.allCases { append(UInt32(count(of: section))) }
        append(lastLine.offset)
        append(UInt8(lastLine.tail.count))
        bytes += lastLine.tail
        bytes += [UInt8](repeating: 0, count: SegmentIndex.headerBytes - Self.digestBytes - bytes.count)
        return bytes + Self.digest(bytes[...])
    }

    /// Decodes a header; nil if it is damaged or of another version.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == SegmentIndex.headerBytes, bytes.starts(with: Self.title),
            Self.digest(bytes.dropLast(Self.digestBytes)) == Array(bytes.suffix(Self.digestBytes))
        else { return nil }
        self = bytes.withUnsafeBytes { bytes in
            var header = SegmentIndex.Header()
            (header.first, header.end, header.bytes) = (bytes.number(at: 8), bytes.number(at: 16), bytes.number(at: 24))
            header.earliest = bytes.number(at: 32)
            header.latest = bytes.number(at: 40)
            header.lastTime = bytes.number(at: 48)
            header.lastStart = bytes.number(at: 56)
            for section in SegmentIndex.Section.allCases {
                header.counts[section.rawValue] = Int(bytes.number(at: 60 + section.rawValue * 4) as UInt32)
            }
            let tail = 60 + SegmentIndex.Section.allCases.count * 4
            let length = min(Int(bytes[tail + 8]), SegmentIndexBuilder.tailBytes)
            header.lastLine = (bytes.number(at: tail), Array(bytes[(tail + 9)..<(tail + 9 + length)]))
            return header
        }
    }
}

/// Writes the sections of an index in order.
struct SegmentIndexWriter {
    private let header: SegmentIndex.Header
    private var bytes: [UInt8]
    private var offset: Int

    /// Creates a writer for the sections that the header describes.
    init(_ header: SegmentIndex.Header) {
        self.header = header
        let length =
            SegmentIndex.headerBytes + header.sectionBytes + header.pages * SegmentIndex.digestBytes
            + SegmentIndex.Header.digestBytes
        bytes = [UInt8](repeating: 0, count: length)
        offset = 0
        append(header.encoded[...])
    }

    mutating func append(_ number: some FixedWidthInteger & BitwiseCopyable) {
        let width = number.bitWidth / 8
        precondition(offset + width <= bytes.count)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
        }
        offset += width
    }

    mutating func append(_ text: ArraySlice<UInt8>) {
        precondition(offset + text.count <= bytes.count)
        bytes.withUnsafeMutableBytes { bytes in
            text.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]).copyMemory(from: $0) }
        }
        offset += text.count
    }

    mutating func append(zeros count: Int) { offset += count }

    /// Appends the digests of the pages, and returns the whole index.
    consuming func finish() -> SegmentIndex.Encoded {
        let end = SegmentIndex.headerBytes + header.sectionBytes
        precondition(offset == end)
        // An index that stays in memory is not checked.
        if header.end == 0 { return SegmentIndex.Encoded(header: header, bytes: bytes) }
        let digests = stride(from: SegmentIndex.headerBytes, to: end, by: SegmentIndex.pageBytes).flatMap { start in
            SegmentIndex.digest(bytes[start..<min(end, start + SegmentIndex.pageBytes)])
        }
        append(digests[...])
        append(SegmentIndex.Header.digest(digests[...])[...])
        return SegmentIndex.Encoded(header: header, bytes: bytes)
    }
}
