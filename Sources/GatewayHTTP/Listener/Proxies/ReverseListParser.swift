/// Walks comma-separated lists (RFC 9110, section 5.6.1) from the right, over several field lines.
///
/// Quotes are paired from the right as well: whatever a client has left open further to the left changes nothing of what a proxy
/// has put behind it.
struct ReverseListParser {
    private var lists: [Substring]

    /// Field values in the order of the request.
    init(lists: [String]) { self.lists = lists.map { $0[...] } }

    /// The next element to the left, without white space around it; nil where there is none.
    mutating func next() -> Substring? {
        while let list = lists.popLast() {
            let (rest, element) = Self.splitLast(list, at: ",")
            if let rest { lists.append(rest) }
            let trimmed = Self.trimmed(element)
            if !trimmed.isEmpty { return trimmed }
        }
        return nil
    }

    /// What stands behind the last separator that is not within quotes, and what stands before it.
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

/// One element of `Forwarded` (RFC 7239, section 4): what a proxy says of the request that it has received.
struct ForwardedElement {
    /// `for`, unquoted.
    private(set) var node: Substring?
    /// `proto`, unquoted.
    private(set) var scheme: Substring?

    /// Nil where it is no list of pairs, or has one of them twice.
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

    // Neither addresses nor schemes have a character that is written with a backslash.
    private static func unquoted(_ text: Substring) -> Substring? {
        guard text.first == "\"" else { return text.contains("\"") ? nil : text }
        let inner = text.dropFirst().dropLast()
        guard text.count >= 2, text.last == "\"", !inner.contains("\""), !inner.contains("\\") else { return nil }
        return inner
    }
}
