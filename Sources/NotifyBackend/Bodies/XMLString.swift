/// The one XML document that a classic backend accepts as a message: `<string xmlns="…">text</string>`.
enum XMLString {
    private static let entities = ["lt": "<", "gt": ">", "amp": "&", "quot": "\"", "apos": "'"]

    /// Returns the text of the element; nil for any other document.
    static func content(of document: String) -> String? {
        var rest = MediaType.trimmed(document)[...]
        if rest.hasPrefix("<?") {
            guard let end = rest.firstRange(of: "?>") else { return nil }
            rest = rest[end.upperBound...].drop(while: \.isWhitespace)
        }
        guard rest.hasPrefix("<string"), let open = rest.firstIndex(of: ">") else { return nil }
        if rest[..<open].hasSuffix("/") { return "" }
        rest = rest[rest.index(after: open)...]
        guard let close = rest.firstRange(of: "</string>") else { return nil }
        return unescaped(rest[..<close.lowerBound])
    }

    private static func unescaped(_ text: Substring) -> String? {
        var result = ""
        var rest = text
        while let ampersand = rest.firstIndex(of: "&") {
            result += rest[..<ampersand]
            rest = rest[rest.index(after: ampersand)...]
            guard let end = rest.firstIndex(of: ";"), let replacement = replacement(for: rest[..<end]) else {
                return nil
            }
            result += replacement
            rest = rest[rest.index(after: end)...]
        }
        guard !text.contains("<") else { return nil }
        return result + rest
    }

    private static func replacement(for name: Substring) -> String? {
        if let known = entities[String(name)] { return known }
        guard name.hasPrefix("#") else { return nil }
        let isHex = name.hasPrefix("#x")
        return UInt32(name.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10)
            .flatMap { Unicode.Scalar($0) }.map { String(Character($0)) }
    }
}
