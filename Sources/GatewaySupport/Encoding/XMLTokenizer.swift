/// A strict tokenizer for a subset of XML 1.0: elements, attributes, character data, CDATA sections, comments, and the
/// five predefined entities and character references. It rejects document type declarations, other processing
/// instructions and other entities, which the documents of web services never contain and attacks do.
///
/// Names keep their prefix; namespaces are not resolved. The caller bounds the length of the document.
public struct XMLTokenizer {
    /// A part of the document.
    public enum Token: Sendable, Hashable {
        /// A start tag.
        case start(name: String, attributes: [String: String])
        /// An end tag. An empty-element tag yields a start and an end.
        case end(name: String)
        /// Character data. One text may arrive in several parts.
        case text(String)
    }

    /// The error that a document is not well-formed, or not in the subset. The detail is for developers.
    public struct Malformed: Error, Sendable, Hashable {
        /// The number of bytes before the fault.
        public let offset: Int
        /// What is wrong.
        public let detail: String
    }

    /// The maximum depth of elements.
    public static let maximumDepth = 32

    private let bytes: [UInt8]
    private var index = 0
    private var open: [String] = []
    private var pendingEnd: String?
    private var hasRoot = false

    /// Creates a tokenizer of a document in UTF-8. A byte order mark is skipped.
    public init(_ document: some Sequence<UInt8>) {
        bytes = Array(document)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { index = 3 }
    }

    /// Returns the next token; nil at the end of a complete document.
    public mutating func next() throws(Malformed) -> Token? {
        if let name = pendingEnd {
            pendingEnd = nil
            return .end(name: name)
        }
        while index < bytes.count {
            if bytes[index] != UInt8(ascii: "<") {
                if open.isEmpty {
                    guard Self.isSpace(bytes[index]) else { throw fault("text outside of the root element") }
                    index += 1
                    continue
                }
                return .text(try characterData())
            }
            if skip("<!--") {
                try skipPast("-->", "a comment")
            } else if skip("<![CDATA[") {
                guard !open.isEmpty else { throw fault("a CDATA section outside of the root element") }
                let start = index
                try skipPast("]]>", "a CDATA section")
                return .text(try text(start..<index - 3))
            } else if skip("<?xml ") {
                guard !hasRoot, open.isEmpty else { throw fault("an XML declaration that is not at the start") }
                try skipPast("?>", "an XML declaration")
            } else if skip("</") {
                return try endTag()
            } else {
                return try startTag()
            }
        }
        guard open.isEmpty, hasRoot else { throw fault("the end of the document within an element") }
        return nil
    }

    private mutating func startTag() throws(Malformed) -> Token {
        index += 1
        let name = try name()
        guard !hasRoot || !open.isEmpty else { throw fault("a second root element") }
        guard open.count < Self.maximumDepth else { throw fault("too many nested elements") }
        hasRoot = true
        var attributes: [String: String] = [:]
        while true {
            let hasSpace = skipSpace()
            if skip("/>") {
                pendingEnd = name
                return .start(name: name, attributes: attributes)
            }
            if skip(">") {
                open.append(name)
                return .start(name: name, attributes: attributes)
            }
            guard hasSpace else { throw fault("no space before an attribute") }
            let attribute = try self.name()
            skipSpace()
            guard skip("=") else { throw fault("an attribute without a value") }
            skipSpace()
            guard attributes.updateValue(try quoted(), forKey: attribute) == nil else {
                throw fault("a duplicate attribute")
            }
        }
    }

    private mutating func endTag() throws(Malformed) -> Token {
        let name = try name()
        skipSpace()
        guard skip(">"), open.popLast() == name else { throw fault("an end tag that closes no element") }
        return .end(name: name)
    }

    private mutating func quoted() throws(Malformed) -> String {
        guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "'") else {
            throw fault("an attribute without quotation marks")
        }
        let quote = bytes[index]
        index += 1
        let start = index
        while index < bytes.count, bytes[index] != quote, bytes[index] != UInt8(ascii: "<") { index += 1 }
        guard index < bytes.count, bytes[index] == quote else { throw fault("an attribute without an end") }
        index += 1
        return try unescaped(start..<index - 1)
    }

    private mutating func characterData() throws(Malformed) -> String {
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "<") { index += 1 }
        return try unescaped(start..<index)
    }

    private func unescaped(_ range: Range<Int>) throws(Malformed) -> String {
        guard bytes[range].contains(UInt8(ascii: "&")) else { return try text(range) }
        var result: [UInt8] = []
        var place = range.lowerBound
        while place < range.upperBound {
            guard bytes[place] == UInt8(ascii: "&") else {
                result.append(bytes[place])
                place += 1
                continue
            }
            guard let end = bytes[place..<min(range.upperBound, place + 12)].firstIndex(of: UInt8(ascii: ";")),
                let scalar = Self.scalar(of: bytes[place + 1..<end])
            else { throw fault("an unknown entity") }
            result += Array(String(scalar).utf8)
            place = end + 1
        }
        guard let text = String(validating: result, as: UTF8.self) else { throw fault("invalid UTF-8") }
        return text
    }

    private static func scalar(of reference: ArraySlice<UInt8>) -> Character? {
        let name = String(decoding: reference, as: UTF8.self)
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard digits.utf8.allSatisfy(\.isAlphanumeric), let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
                number >= 0x20 || number == 9 || number == 10 || number == 13
            else { return nil }
            return Unicode.Scalar(number).map(Character.init)
        }
    }

    private func text(_ range: Range<Int>) throws(Malformed) -> String {
        guard let text = String(validating: bytes[range], as: UTF8.self) else { throw fault("invalid UTF-8") }
        return text
    }

    private mutating func name() throws(Malformed) -> String {
        let start = index
        while index < bytes.count, Self.isNameByte(bytes[index]) { index += 1 }
        guard index > start, index - start <= 256, !bytes[start].isASCIIDigit, bytes[start] != UInt8(ascii: "-") else {
            throw fault("an invalid name")
        }
        return try text(start..<index)
    }

    private mutating func skip(_ expected: StaticString) -> Bool {
        let length = expected.utf8CodeUnitCount
        guard bytes.count - index >= length else { return false }
        for offset in 0..<length where bytes[index + offset] != expected.utf8Start[offset] { return false }
        index += length
        return true
    }

    private mutating func skipPast(_ end: StaticString, _ part: String) throws(Malformed) {
        while index < bytes.count {
            if skip(end) { return }
            index += 1
        }
        throw fault("\(part) without an end")
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let start = index
        while index < bytes.count, Self.isSpace(bytes[index]) { index += 1 }
        return index > start
    }

    private func fault(_ detail: String) -> Malformed { Malformed(offset: index, detail: detail) }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }

    // Names outside ASCII are rejected.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: ":")
    }
}
