internal import Glibc

/// The segments of a journal for whoever only reads them.
struct SegmentFiles: Sendable {
    /// A segment, and how long it was when it was looked at.
    struct Found: Sendable, Hashable {
        let name: JournalSegmentName
        let size: UInt64
    }

    let directory: String
    /// How much of a segment is read at once where it can be. Little: what brings the index up to date rests between blocks, and
    /// not within one (``BackgroundPace``).
    var blockBytes = 1 << 18

    /// The segments in order. One that is removed meanwhile is left out.
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

    /// What the body reads of a segment; nil where the segment has been removed, as retention does at any time.
    func ifPresent<Result>(_ body: () throws(FileFailure) -> Result?) throws(FileFailure) -> Result? {
        do throws(FileFailure) {
            return try body()
        } catch  where error.isMissing {
            return nil
        }
    }

    /// Some lines from the offset on, which must be where one begins: a block of them, or one that is longer than a block. Nil
    /// where none is there in full. Keeps what a long journal takes in memory small.
    ///
    /// - Parameter isGrowing: whether the segment may be being written.
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

    /// The lines from the offset on, which must be where one begins, of a segment that may be being written; without those that
    /// are not there in full yet, and without one that goes beyond so many bytes.
    func lines(_ name: JournalSegmentName, from start: Int, atMost count: Int = .max) throws(FileFailure) -> [UInt8] {
        for _ in 1..<Self.attempts {
            let found = WholeLines(try read(name, from: start, count: count))
            if !found.hasGap { return found.bytes }
            // What is written while it is read may be seen in part, and lines behind it in full.
            usleep(Self.pauseMicroseconds)
        }
        // A gap that stays is damage, for verification to name.
        return WholeLines(try read(name, from: start, count: count), mayHaveGaps: true).bytes
    }

    private static let attempts = 3
    private static let pauseMicroseconds: UInt32 = 2000

    /// The bytes from the offset on, so many at most.
    func read(_ name: JournalSegmentName, from start: Int, count: Int = .max) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path(name))
        defer { reader.close() }
        return try reader.read(from: start, count: count)
    }

    func path(_ name: JournalSegmentName) -> String { directory + "/" + name.text }
}

/// One segment, open to be read.
struct SegmentReader {
    private let path: String
    private let descriptor: CInt

    init(_ path: String) throws(FileFailure) {
        self.path = path
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw FileFailure("open", path) }
    }

    func close() { _ = Glibc.close(descriptor) }

    /// The bytes from the offset on, so many at most.
    func read(from start: Int, count: Int = .max) throws(FileFailure) -> [UInt8] {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        let wanted = min(max(0, count), max(0, Int(status.st_size) - max(0, start)))
        var failure: FileFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            while filled < wanted {
                let got = pread(
                    descriptor, buffer.baseAddress.map { $0 + filled }, wanted - filled, off_t(start + filled))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = FileFailure("read", path) }
                guard got > 0 else { break }
                filled += got
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
