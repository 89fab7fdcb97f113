internal import GatewaySupport

extension SegmentIndex.Header {
    static let digestBytes = 16
    private static let title = Array("NGidx002".utf8)
    /// The title of the format without the durations of lines.
    private static let formerTitle = Array("NGidx001".utf8)

    /// Returns the digest of a part of the file other than a page; empty if libcrypto fails.
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
        return bytes + Self.padded(Self.digest(bytes[...])[...], to: Self.digestBytes)
    }

    /// Returns a digest at its length in the file. A missing one is stored as zeroes, which match no content, so that a
    /// reader rejects the file.
    static func padded(_ digest: ArraySlice<UInt8>, to length: Int) -> [UInt8] {
        digest + [UInt8](repeating: 0, count: length - digest.count)
    }

    /// Returns whether the bytes begin an index of a former format. Such an index is never used and is built again.
    static func isOfFormerFormat(_ bytes: [UInt8]) -> Bool { bytes.starts(with: formerTitle) }

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
        // The header counts the elements of the arrays that `SegmentIndexBuilder` appends.
        precondition(offset + width <= bytes.count)
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: type(of: number))
        }
        offset += width
    }

    mutating func append(_ text: ArraySlice<UInt8>) {
        // As above: the header counts the bytes of all texts.
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
        // The builder has appended every element that the header counts, and no other.
        precondition(offset == end)
        // An index that stays in memory is not checked.
        if header.end == 0 { return SegmentIndex.Encoded(header: header, bytes: bytes) }
        let digests = stride(from: SegmentIndex.headerBytes, to: end, by: SegmentIndex.pageBytes).flatMap { start in
            SegmentIndex.Header.padded(
                SegmentIndex.digest(bytes[start..<min(end, start + SegmentIndex.pageBytes)]),
                to: SegmentIndex.digestBytes)
        }
        append(digests[...])
        let check = SegmentIndex.Header.digest(digests[...])[...]
        append(SegmentIndex.Header.padded(check, to: SegmentIndex.Header.digestBytes)[...])
        return SegmentIndex.Encoded(header: header, bytes: bytes)
    }
}
