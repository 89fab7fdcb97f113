internal import GatewayCore
internal import GatewaySupport

/// The user name of a `sub` claim.
enum SubjectName {
    /// Returns the user, or nil if the subject is not in canonical form.
    ///
    /// A subject in another spelling is rejected instead of normalised: an issuer must name the user exactly. With
    /// hex escaping a canonical name contains escapes, and canonicalising it again would escape them, so the escapes
    /// are decoded first.
    static func user(_ subject: String, names: NameRules) -> UserName? {
        guard let user = UserName(canonical: subject) else { return nil }
        switch names.escaping {
        case .refuse: return names.canonical(subject) == user ? user : nil
        case .hex: return unescaped(subject).flatMap(names.canonical) == user ? user : nil
        }
    }

    /// Replaces each `_x` with two hexadecimal digits by the byte that it stands for. Returns nil if the result is
    /// not UTF-8.
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
