internal import NIOCore

/// An iterator over the elements of comma-separated lists (RFC 9110, section 5.6.1), from right to left across several
/// field lines.
///
/// Quotes are also paired from the right. An unbalanced quote from a client, which is further to the left, therefore
/// cannot change how the element of a proxy is read. Parsing works on bytes, not on `Character`: bytes from the client
/// could form one grapheme cluster with the separator that follows them.
struct ReverseListParser {
    private var lists: [ByteBufferView]

    /// Creates an iterator over field values in the order of the request.
    init(lists: [ByteBufferView]) { self.lists = lists }

    /// Returns the next non-empty element to the left without surrounding white space; nil at the start of the lists.
    mutating func next() -> ByteBufferView? {
        while let list = lists.popLast() {
            let (rest, element) = Self.splitLast(list, at: UInt8(ascii: ","))
            if let rest { lists.append(rest) }
            let trimmed = Self.trimmed(element)
            if !trimmed.isEmpty { return trimmed }
        }
        return nil
    }

    /// Splits the bytes at the last separator outside of quotes. `rest` is nil if there is no separator.
    static func splitLast(
        _ bytes: ByteBufferView, at separator: UInt8
    ) -> (rest: ByteBufferView?, last: ByteBufferView) {
        var isQuoted = false
        var index = bytes.endIndex
        while index > bytes.startIndex {
            index -= 1
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            if byte == separator, !isQuoted { return (bytes[..<index], bytes[(index + 1)...]) }
        }
        return (nil, bytes)
    }

    static func trimmed(_ bytes: ByteBufferView) -> ByteBufferView {
        var bytes = bytes
        while bytes.first?.isOptionalWhitespace == true { bytes = bytes.dropFirst() }
        while bytes.last?.isOptionalWhitespace == true { bytes = bytes.dropLast() }
        return bytes
    }
}

/// One element of `Forwarded` (RFC 7239, section 4), added by a single proxy.
struct ForwardedElement {
    /// The unquoted value of `for`.
    private(set) var node: ByteBufferView?
    /// The unquoted value of `proto`.
    private(set) var scheme: ByteBufferView?

    /// Parses the pairs of an element. Returns nil if they are malformed, or if `for` or `proto` occurs twice.
    init?(_ element: ByteBufferView) {
        var rest: ByteBufferView? = element
        while let bytes = rest {
            let (before, pair) = ReverseListParser.splitLast(bytes, at: UInt8(ascii: ";"))
            rest = before
            let trimmed = ReverseListParser.trimmed(pair)
            if trimmed.isEmpty { continue }
            guard let equals = trimmed.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            guard let value = Self.unquoted(trimmed[(equals + 1)...]) else { return nil }
            let name = trimmed[..<equals]
            if name.equalsIgnoringCase("for") {
                if node != nil { return nil }
                node = value
            } else if name.equalsIgnoringCase("proto") {
                if scheme != nil { return nil }
                scheme = value
            }
        }
    }

    // Addresses and schemes need no backslash escape, so a value that contains one is malformed.
    private static func unquoted(_ bytes: ByteBufferView) -> ByteBufferView? {
        let quote = UInt8(ascii: "\"")
        guard bytes.first == quote else { return bytes.contains(quote) ? nil : bytes }
        let inner = bytes.dropFirst().dropLast()
        guard bytes.count >= 2, bytes.last == quote, !inner.contains(quote), !inner.contains(UInt8(ascii: "\\")) else {
            return nil
        }
        return inner
    }
}

extension ByteBufferView {
    /// Returns whether the bytes equal `word`, ignoring the case of ASCII letters. `word` must consist of lower-case
    /// letters.
    func equalsIgnoringCase(_ word: StaticString) -> Bool {
        count == word.utf8CodeUnitCount
            && word.withUTF8Buffer { zip(self, $0).allSatisfy { $0.isASCIILetter && $0 | 0x20 == $1 } }
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
}
