/// A media type with its charset, as in `application/json; charset=utf-8`.
struct MediaType: Equatable {
    /// The type and the subtype in lower case.
    let essence: String
    /// The charset in lower case, without quotes; nil if none is given.
    let charset: String?

    /// Parses a Content-Type value. Parameters other than `charset` are ignored.
    init(_ value: String) {
        let parts = value.split(separator: ";", omittingEmptySubsequences: false).map { Self.trimmed($0) }
        essence = parts.first?.lowercased() ?? ""
        charset =
            parts.dropFirst().lazy.compactMap { part -> String? in
                let pair = part.split(separator: "=", maxSplits: 1)
                guard pair.count == 2, Self.trimmed(pair[0]).lowercased() == "charset" else { return nil }
                return Self.trimmed(pair[1]).filter { $0 != "\"" }.lowercased()
            }.first
    }

    /// Removes spaces and tabs at both ends.
    static func trimmed(_ text: some StringProtocol) -> String {
        let isSpace = { (character: Character) in character == " " || character == "\t" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }
}
