/// An iterator over the elements of comma-separated lists (RFC 9110, section 5.6.1), from right to left across several
/// field lines.
///
/// Quotes are also paired from the right. An unbalanced quote from a client, which is further to the left, therefore
/// cannot change how the element of a proxy is read.
struct ReverseListParser {
    private var lists: [Substring]

    /// Creates an iterator over field values in the order of the request.
    init(lists: [String]) { self.lists = lists.map { $0[...] } }

    /// Returns the next element to the left without surrounding white space; nil at the start of the lists.
    mutating func next() -> Substring? {
        while let list = lists.popLast() {
            let (rest, element) = Self.splitLast(list, at: ",")
            if let rest { lists.append(rest) }
            let trimmed = Self.trimmed(element)
            if !trimmed.isEmpty { return trimmed }
        }
        return nil
    }

    /// Splits the text at the last separator outside of quotes. `rest` is nil if there is no separator.
    static func splitLast(_ text: Substring, at separator: Character) -> (rest: Substring?, last: Substring) {
        var isQuoted = false
        var index = text.endIndex
        while index > text.startIndex {
            index = text.index(before: index)
            let character = text[index]
            if character == "\"" { isQuoted.toggle() }
            if character == separator, !isQuoted { return (text[..<index], text[text.index(after: index)...]) }
        }
        return (nil, text)
    }

    static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}

/// One element of `Forwarded` (RFC 7239, section 4), which one proxy has added.
struct ForwardedElement {
    /// The unquoted value of `for`.
    private(set) var node: Substring?
    /// The unquoted value of `proto`.
    private(set) var scheme: Substring?

    /// Parses the pairs of an element. Returns nil if they are malformed, or if `for` or `proto` occurs twice.
    init?(_ text: Substring) {
        var rest: Substring? = text
        while let text = rest {
            let (before, pair) = ReverseListParser.splitLast(text, at: ";")
            rest = before
            let trimmed = ReverseListParser.trimmed(pair)
            if trimmed.isEmpty { continue }
            guard let equals = trimmed.firstIndex(of: "=") else { return nil }
            guard let value = Self.unquoted(trimmed[trimmed.index(after: equals)...]) else { return nil }
            switch trimmed[..<equals].lowercased() {
            case "for":
                if node != nil { return nil }
                node = value
            case "proto":
                if scheme != nil { return nil }
                scheme = value
            default: break
            }
        }
    }

    // Addresses and schemes contain no character that needs a backslash escape.
    private static func unquoted(_ text: Substring) -> Substring? {
        guard text.first == "\"" else { return text.contains("\"") ? nil : text }
        let inner = text.dropFirst().dropLast()
        guard text.count >= 2, text.last == "\"", !inner.contains("\""), !inner.contains("\\") else { return nil }
        return inner
    }
}
