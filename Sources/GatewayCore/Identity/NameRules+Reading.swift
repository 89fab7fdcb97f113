internal import GatewaySupport

// The way back from canonical names, and the names by which people mean users.

extension NameRules {
    /// Returns the user that a person means by a name: the recipient of a send, or a name in the configuration, in a
    /// command or in the console.
    ///
    /// A canonical name means its user, so a name that the gateway has shown can be given back. Every other name is
    /// taken like the name of an account. The result of a result is the result itself: the user whose own account name
    /// is a canonical name of somebody else is meant by their own canonical name alone.
    ///
    /// Never used for the name of an account, which `canonical(_:)` takes literally.
    public func user(_ name: PresentedName) -> UserName? {
        if escaping == .hex, Self.mayHaveEscape(name.text.utf8) {
            // Bounds the work of folding; a name of this length can have no canonical form.
            guard name.text.utf8.count <= Self.maximumPresentedLength else { return nil }
            let folded = Self.folded(name.text)
            if let user = user(canonical: folded) ?? user(canonical: String(stripped(folded))) { return user }
        }
        return canonical(LoginName(name.text))
    }

    /// Returns the user of a text that must be a canonical name of these rules, such as the subject of a token of ours
    /// or a tag in a hub. Nil for every other text, whether or not it has a canonical form.
    public func user(canonical text: String) -> UserName? {
        guard let user = UserName(canonical: text), canonical(login(of: user)) == user else { return nil }
        return user
    }

    /// Returns the name that an account of the user has, in lower case and without prefix and suffix: the canonical name
    /// without its escapes. It stands for the name of a login where none is known.
    public func login(of user: UserName) -> LoginName {
        LoginName(String(decoding: unescaped(user), as: UTF8.self))
    }

    /// Returns the unescaped spellings that map to this user: the name itself, and with each prefix and suffix that is
    /// stripped.
    public func spellings(of user: UserName) -> [LoginName] {
        let plain = login(of: user).text
        let spellings = ([""] + prefixes).flatMap { prefix in
            ([""] + suffixes).map { suffix in LoginName(prefix + plain + suffix) }
        }
        return spellings.filter { canonical($0) == user }
    }

    /// Returns the bytes that a part of a name has in `unescaped(_:)` of a whole name, for patterns. The part is written
    /// as people write names, or as it is in canonical names. Nil if no name has such a part.
    public func unescaped(part: String) -> [UInt8]? {
        let folded = Array(Self.folded(part).utf8)
        switch escaping {
        case .refuse: return folded.allSatisfy(UserName.isNameByte) ? folded : nil
        case .hex:
            let bytes = unescaped(String(decoding: folded, as: UTF8.self).utf8)
            // As of a whole name, the part is one of a canonical name only if every escape in it is.
            let isFolded = String(validating: bytes, as: UTF8.self).map { Array(Self.folded($0).utf8) == bytes } == true
            return isFolded && Self.escaped(bytes) == folded ? bytes : folded
        }
    }

    /// Reverses the escaping of a canonical name.
    public func unescaped(_ user: UserName) -> [UInt8] { unescaped(user.text.utf8) }

    private func unescaped(_ name: String.UTF8View) -> [UInt8] {
        guard escaping == .hex, Self.mayHaveEscape(name) else { return Array(name) }
        var bytes: [UInt8] = []
        var rest = name[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "_"), rest.first == UInt8(ascii: "x"),
                let high = rest.dropFirst().first?.hexDigitValue, let low = rest.dropFirst(2).first?.hexDigitValue
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// Returns whether a `_` precedes an `x` of either case.
    private static func mayHaveEscape(_ name: String.UTF8View) -> Bool {
        zip(name, name.dropFirst()).contains { $0 == UInt8(ascii: "_") && $1.asciiLowercased == UInt8(ascii: "x") }
    }
}
