internal import Glibc

/// Separates the lines of a segment from the preallocated line feeds after them.
enum JournalContent {
    /// Returns the index after the last byte that is not a line feed.
    static func endOffset(of bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            var end = bytes.count
            let feed = UInt8(ascii: "\n")
            // All bytes of a block are equal if the block equals itself shifted by one byte. One memcmp(3) call then
            // skips the block.
            while end >= blockBytes, bytes[end - 1] == feed,
                memcmp(start + end - blockBytes, start + end - blockBytes + 1, blockBytes - 1) == 0
            {
                end -= blockBytes
            }
            while end > 0, bytes[end - 1] == feed { end -= 1 }
            return end
        }
    }

    /// Returns the index after the last line's line feed.
    static func endOfLines(in bytes: [UInt8]) -> Int {
        let content = endOffset(of: bytes)
        return content == 0 ? 0 : min(content + 1, bytes.count)
    }

    private static let blockBytes = 4096
}

/// An iterator over the complete lines of a segment, last line first, without line feeds.
struct BackwardLines {
    private let bytes: [UInt8]
    private var end: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        let content = JournalContent.endOffset(of: bytes)
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
