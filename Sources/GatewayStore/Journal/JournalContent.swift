internal import Glibc

/// Tells the lines of a segment from the line feeds that it is filled ahead with.
enum JournalContent {
    /// The place behind the last byte that is no line feed.
    static func end(of bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var end = bytes.count
            let feed = UInt8(ascii: "\n")
            // Where a block equals itself moved by one byte, all its bytes are the same: a system's call skips it at once.
            while end >= blockBytes, bytes[end - 1] == feed,
                memcmp(start + end - blockBytes, start + end - blockBytes + 1, blockBytes - 1) == 0
            {
                end -= blockBytes
            }
            while end > 0, bytes[end - 1] == feed { end -= 1 }
            return end
        }
    }

    /// The place behind the line feed that ends the last line.
    static func endOfLines(in bytes: [UInt8]) -> Int {
        let content = end(of: bytes)
        return content == 0 ? 0 : min(content + 1, bytes.count)
    }

    private static let blockBytes = 4096
}

/// The lines of a segment that end with a line feed, the last one first, each without it.
struct BackwardLines {
    private let bytes: [UInt8]
    private var end: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let content = JournalContent.end(of: bytes)
        guard content > 0 else { return }
        end = content < bytes.count ? content : bytes.lastIndex(of: UInt8(ascii: "\n"))
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let end else { return nil }
        let before = bytes[..<end].lastIndex(of: UInt8(ascii: "\n"))
        self.end = before
        return bytes[(before.map { $0 + 1 } ?? 0)..<end]
    }
}
