/// The header of a member of a backup: a block of the ustar format (POSIX.1-2017, pax, "ustar Interchange Format").
///
/// A header has one form only: a regular file of mode 0600 without owner, link, device or prefix. So a reader accepts no
/// byte that the writer did not write.
struct TarHeader: Sendable, Hashable {
    /// The length of a block in bytes.
    static let blockSize = 512
    /// The largest size of a member in bytes: 11 octal digits.
    static let maximumSize = (1 << 33) - 1
    /// The latest modification time: 11 octal digits.
    static let maximumTime = (1 << 33) - 1

    /// The name; at most 100 bytes of ASCII.
    let name: String
    /// The size of the member in bytes.
    let size: Int
    /// The modification time in seconds since 1970.
    let modified: Int

    init(name: String, size: Int, modified: Int) {
        self.name = name
        self.size = size
        self.modified = modified
    }

    /// Parses a block; nil if it is not exactly the one that `bytes` returns.
    init?(_ block: ArraySlice<UInt8>) {
        guard block.count == Self.blockSize else { return nil }
        let block = Array(block)
        guard let name = String(validating: block[..<100].prefix { $0 != 0 }, as: UTF8.self), !name.isEmpty,
            let size = Self.octal(block[124..<135]), let modified = Self.octal(block[136..<147])
        else { return nil }
        self.init(name: name, size: size, modified: modified)
        guard bytes == block else { return nil }
    }

    /// The block.
    var bytes: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockSize)
        func put(_ text: String, at offset: Int) {
            block.replaceSubrange(offset..<(offset + text.utf8.count), with: text.utf8)
        }
        put(String(name.prefix(100)), at: 0)
        put("0000600", at: 100)
        put("0000000", at: 108)
        put("0000000", at: 116)
        put(Self.octal(size, digits: 11), at: 124)
        put(Self.octal(modified, digits: 11), at: 136)
        put("        ", at: 148)
        put("0", at: 156)
        put("ustar\u{0}00", at: 257)
        put("0000000", at: 329)
        put("0000000", at: 337)
        let sum = block.reduce(0) { $0 + Int($1) }
        put(Self.octal(sum, digits: 6) + "\u{0} ", at: 148)
        return block
    }

    /// The number of zero bytes after a member of this size, up to the next block.
    static func padding(after size: Int) -> Int { (blockSize - size % blockSize) % blockSize }

    private static func octal(_ number: Int, digits: Int) -> String {
        let text = String(max(0, number), radix: 8)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> Int? {
        guard digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }
    }
}
