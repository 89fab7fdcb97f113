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
}
