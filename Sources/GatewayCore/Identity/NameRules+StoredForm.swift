extension NameRules {
    /// All that decides which spellings are one user, as text that a store keeps beside the names that it holds. Rules of the same
    /// text make the same names; how authenticators are asked is no part of it.
    public var storedForm: String {
        let value = JSONValue.object([
            // Another number where folding or escaping themselves change.
            .init("form", .number("1")),
            .init("prefixes", .array(prefixes.map(JSONValue.string))),
            .init("suffixes", .array(suffixes.map(JSONValue.string))),
            .init("escape", .string(escaping.rawValue)),
        ])
        return String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
    }

    /// The rules of a stored form; nil for text that this version has not written.
    public init?(storedForm text: String) {
        let parser = JSONParser(depthLimit: 2, memberLimit: 10_000)
        guard let value = try? parser.parse(Array(text.utf8).span), value["form"]?.integer == 1,
            case .array(let prefixes)? = value["prefixes"], case .array(let suffixes)? = value["suffixes"],
            let escaping = value["escape"]?.string.flatMap(Escaping.init)
        else { return nil }
        self.init(
            prefixes: prefixes.compactMap(\.string), suffixes: suffixes.compactMap(\.string), escaping: escaping)
        guard storedForm == text else { return nil }
    }

    /// The spellings by which somebody may have become this user: as it is, and with what is stripped; unescaped.
    public func spellings(of user: UserName) -> [String] {
        let plain = escaping == .hex ? Self.unescaped(user.text) : user.text
        let spellings = ([""] + prefixes).flatMap { prefix in
            ([""] + suffixes).map { suffix in prefix + plain + suffix }
        }
        return spellings.filter { canonical($0) == user }
    }

    /// What `hex` escaping made of it, undone.
    private static func unescaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
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
        return String(decoding: bytes, as: UTF8.self)
    }
}
