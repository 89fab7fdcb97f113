internal import GatewayCore

/// The user that a `sub` claim names.
enum SubjectName {
    /// The canonical name, or nil where the text is not in canonical form itself.
    ///
    /// A token in another spelling is refused rather than folded: whoever issues tokens says exactly whom it means. Escaped
    /// names are canonical too, and canonicalising them again would escape the escapes, so they are read back first.
    static func user(_ subject: String, names: NameRules) -> UserName? {
        guard let user = UserName(canonical: subject) else { return nil }
        switch names.escaping {
        case .refuse: return names.canonical(subject) == user ? user : nil
        case .hex: return unescaped(subject).flatMap(names.canonical) == user ? user : nil
        }
    }

    /// The name with each `_x` and two hexadecimal digits made the byte that they stand for; nil where that is not UTF-8.
    private static func unescaped(_ name: String) -> String? {
        let source = Array(name.utf8)
        var bytes: [UInt8] = []
        var index = 0
        while index < source.count {
            if index + 3 < source.count, source[index] == UInt8(ascii: "_"), source[index + 1] == UInt8(ascii: "x"),
                let high = source[index + 2].hexDigitValue, let low = source[index + 3].hexDigitValue
            {
                bytes.append(high << 4 | low)
                index += 4
            } else {
                bytes.append(source[index])
                index += 1
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
