internal import GatewaySupport

extension NameRules {
    /// The rules as text, which a store keeps beside the names that it holds. Equal texts produce equal canonical
    /// names. `keepsLoginCase` is not part of it, because it does not affect canonical names.
    public var storedForm: String {
        let value = JSONValue.object([
            // Increase this number when folding or escaping themselves change.
            .init("form", .number("1")),
            .init("prefixes", .array(prefixes.map(JSONValue.string))),
            .init("suffixes", .array(suffixes.map(JSONValue.string))),
            .init("escape", .string(escaping.rawValue)),
        ])
        return String(decoding: JSONWriter.bytes(of: value), as: UTF8.self)
    }

    /// Creates rules from a stored form; nil for text that this version did not write.
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

    /// Returns the unescaped spellings that map to this user: the name itself, and with each prefix and suffix that is
    /// stripped.
    public func spellings(of user: UserName) -> [String] {
        let plain = escaping == .hex ? Self.unescaped(user.text) : user.text
        let spellings = ([""] + prefixes).flatMap { prefix in
            ([""] + suffixes).map { suffix in prefix + plain + suffix }
        }
        return spellings.filter { canonical($0) == user }
    }

    /// Reverses `hex` escaping.
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
