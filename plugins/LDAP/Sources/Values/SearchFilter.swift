internal import Foundation

/// A search filter (RFC 4515) with placeholders such as `{user}` in place of assertion values.
struct SearchFilter: Sendable, Hashable {
    /// The reason why a text is not such a filter.
    enum Fault: Error, Hashable, CustomStringConvertible {
        case syntax
        case placeholder(String)
        case withoutPlaceholder(String)

        var description: String {
            switch self {
            case .syntax: "is not a search filter of RFC 4515, such as (uid={user})"
            case .placeholder(let name):
                "has {\(name)} elsewhere than as a whole value, such as in (uid={\(name)})"
            case .withoutPlaceholder(let names): "has no \(names), so it would find the same entry for every user"
            }
        }
    }

    /// The text with placeholders.
    let text: String

    /// Checks a filter. Each placeholder must be a whole value, between `=` and `)`.
    ///
    /// - Parameter placeholders: the allowed names. At least one must occur, unless there is none.
    init(_ text: String, placeholders: [String]) throws(Fault) {
        guard FilterSyntax.isFilter(text) else { throw .syntax }
        var parts: [Substring] = [text[...]]
        for name in placeholders {
            let pieces = text.components(separatedBy: "{\(name)}")
            for (before, after) in zip(pieces, pieces.dropFirst())
            where !(before.hasSuffix("=") && after.hasPrefix(")")) {
                throw .placeholder(name)
            }
            parts = parts.flatMap { $0.components(separatedBy: "{\(name)}").map { $0[...] } }
        }
        if !placeholders.isEmpty, parts.count == 1 {
            throw .withoutPlaceholder(placeholders.map { "{\($0)}" }.joined(separator: " or "))
        }
        self.text = text
    }

    /// Wraps a filter that was checked before.
    init(checked text: String) { self.text = text }

    /// Returns the filter with each placeholder replaced by its value, escaped.
    func filled(_ values: [String: String]) -> String {
        // Replaced in one pass, because a value may contain the text of another placeholder.
        var filled = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "{") {
            filled += rest[..<start]
            rest = rest[start...]
            if let name = values.keys.first(where: { rest.hasPrefix("{\($0)}") }), let value = values[name] {
                filled += Self.escaped(value)
                rest = rest.dropFirst(name.count + 2)
            } else {
                filled += String(rest.removeFirst())
            }
        }
        return filled + rest
    }

    /// Returns the value with every byte that could have a meaning in a filter as `\` and two hexadecimal digits
    /// (RFC 4515, section 3). Only this function puts values into filters.
    static func escaped(_ value: String) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var bytes: [UInt8] = []
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "@"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "\\"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The grammar of search filters (RFC 4515, section 3), as far as a mistake of an operator could break it: balanced
/// parentheses, operators with operands, and items with an attribute and a relation.
enum FilterSyntax {
    /// The maximum depth of nested filters.
    static let maximumDepth = 16

    /// Returns whether the whole text is one filter.
    static func isFilter(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        return consumeFilter(&rest, depth: 0) && rest.isEmpty
    }

    private static func consumeFilter(_ rest: inout ArraySlice<UInt8>, depth: Int) -> Bool {
        guard depth < maximumDepth, rest.popFirst() == UInt8(ascii: "("), let first = rest.first else { return false }
        switch first {
        case UInt8(ascii: "&"), UInt8(ascii: "|"):
            rest.removeFirst()
            repeat {
                guard consumeFilter(&rest, depth: depth + 1) else { return false }
            } while rest.first == UInt8(ascii: "(")
        case UInt8(ascii: "!"):
            rest.removeFirst()
            guard consumeFilter(&rest, depth: depth + 1) else { return false }
        default:
            let item = rest.prefix { $0 != UInt8(ascii: "(") && $0 != UInt8(ascii: ")") }
            guard isItem(item) else { return false }
            rest = rest.dropFirst(item.count)
        }
        return rest.popFirst() == UInt8(ascii: ")")
    }

    private static func isItem(_ item: ArraySlice<UInt8>) -> Bool {
        guard let equals = item.firstIndex(of: UInt8(ascii: "=")), equals != item.startIndex else { return false }
        var attribute = item[..<equals]
        if let last = attribute.last, [UInt8(ascii: "~"), UInt8(ascii: ">"), UInt8(ascii: "<")].contains(last) {
            attribute = attribute.dropLast()
        }
        guard !attribute.isEmpty, attribute.allSatisfy(isAttributeByte) else { return false }
        var value = item[(equals + 1)...]
        while let byte = value.popFirst() {
            if byte == 0 { return false }
            guard byte == UInt8(ascii: "\\") else { continue }
            guard value.count >= 2, value.prefix(2).allSatisfy(\.isHexDigit) else { return false }
            value = value.dropFirst(2)
        }
        return true
    }

    // Names, options, object identifiers and matching rules.
    private static func isAttributeByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ";"),
            UInt8(ascii: ":"):
            true
        default: false
        }
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
