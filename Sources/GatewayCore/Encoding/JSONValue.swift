/// A JSON value as it was read. Numbers are kept as text: no rounding, no range.
public indirect enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number as written.
    case number(String)
    /// Text, decoded.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Names and values, in order; no two names are the same, however their case.
    case object([Member])

    /// One name and its value.
    public struct Member: Sendable, Hashable {
        /// The name, decoded, as written.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// A member from its parts.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The value of the member with the name in any case (ASCII), or nil; nil for what is no object.
    public func member(anyCase name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        let wanted = name.asciiLowercased
        return members.first { $0.name.asciiLowercased == wanted }?.value
    }

    /// The value of the member with exactly this name, or nil; nil for what is no object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, or nil for what is none.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, if it is written as a whole one that fits, or nil.
    public var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}
