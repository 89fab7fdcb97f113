internal import GatewaySupport

/// The index of one segment: a row for each line, and the rows of each user, recipient and call.
///
/// The format, in little-endian numbers: a header of ``headerBytes``, the sections in the order of ``Section``, and a
/// table with a digest of each page of the sections, and a seal (``IndexSeal``). The index of a closed segment is a file and
/// never changes; that of the segment in use is kept in memory. A file is complete on disk before it gets its name. Every
/// page that is read from it is compared with its digest, so that damage of any kind is found before it affects a result.
/// Safe to use from any thread.
final class SegmentIndex: Sendable {
    /// The number that stands for a missing name, term or row.
    static let none = UInt32.max
    /// The length of the header.
    static let headerBytes = 256
    /// The length of a page.
    static let pageBytes = 4096
    /// The maximum length of a line in bytes, many times that of any line that is written. A greater length in an index means
    /// that the index is damaged.
    static let maximumLineBytes = 1 << 22
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
        /// The combinations of kind, action, push service, result, count and latency. The first four are numbers of
        /// terms, the last is the number of a bucket of ``LatencyBuckets``.
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
            case .shapes: 28
            case .callRanges: 24
            case .calls: 8
            case .users, .recipients, .keyed, .unmatched: 4
            case .text, .terms: 1
            }
        }
    }

    /// The description of the whole segment, and the lengths of the sections.
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
        /// All bytes of the file, without its seal.
        let bytes: [UInt8]

        /// The bytes of the sealed file; nil if libcrypto fails.
        func sealed(_ seal: IndexSeal) -> [UInt8]? {
            let end = headerBytes + header.sectionBytes
            return seal.seal(of: Array(bytes.prefix(headerBytes)), Array(bytes.dropFirst(end))).map { bytes + $0 }
        }
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
        /// The number of the bucket of ``LatencyBuckets``; nil for lines without a duration.
        let latency: Int?
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
    /// - Parameter seal: The seal that the file must have; nil if it must have none.
    /// - Throws: `FileFailure` if the file cannot be read, and a failure with the segment if it is damaged.
    init(_ path: String, first: UInt64, seal: IndexSeal?) throws {
        let reader = try SegmentReader(path)
        defer { reader.close() }
        let head = try reader.read(from: 0, count: Self.headerBytes)
        guard let header = Header(head), header.first == first, header.isPlausible else {
            throw AuditIndex.Failure(damaged: first)
        }
        let length = header.pages * Self.digestBytes + Header.digestBytes
        let end = try reader.read(
            from: Self.headerBytes + header.sectionBytes, count: length + IndexSeal.byteCount + 1)
        let digests = Array(end.prefix(length))
        if let seal {
            // A wrong seal is no secret: any process with the key tells right ones from wrong ones.
            guard end.count == length + IndexSeal.byteCount,
                seal.seal(of: head, digests) == Array(end.suffix(IndexSeal.byteCount))
            else { throw AuditIndex.Failure(damaged: first, "is not sealed with the journal's key") }
        }
        guard digests.count == length, seal != nil || end.count == length,
            Header.digest(digests.dropLast(Header.digestBytes)) == Array(digests.suffix(Header.digestBytes))
        else { throw AuditIndex.Failure(damaged: first) }
        self.header = header
        storage = .file(path: path, digests: digests)
    }

    /// Opens the file for the pages of one query; nil for an index in memory. A file that another process has removed
    /// counts as damaged.
    func open() throws -> SegmentReader? {
        guard case .file(let path, _) = storage else { return nil }
        do throws(FileFailure) {
            return try SegmentReader(path)
        } catch  where error.isMissing {
            throw AuditIndex.Failure(damaged: header.first, "was removed")
        }
    }

    /// Returns the bytes of a page of the sections. Throws if a page of a file does not match its digest.
    func page(_ number: Int, _ reader: SegmentReader?) throws -> [UInt8] {
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

    /// Returns the digest of a page; empty if libcrypto fails.
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
