/// A parsed JSON value. Numbers stay text, so they are neither rounded nor limited in range.
public indirect enum JSONValue: Sendable, Hashable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number, as written.
    case number(String)
    /// Decoded text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// Names and values, in order. The names are unique when compared without case.
    case object([Member])

    /// One name and its value.
    public struct Member: Sendable, Hashable {
        /// The decoded name, in the case in which it was written.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// Creates a member.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Returns the value of the member with this name, compared without ASCII case; nil if there is none or the value
    /// is not an object.
    public func member(anyCase name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        let wanted = name.asciiLowercased
        return members.first { $0.name.asciiLowercased == wanted }?.value
    }

    /// The value of the member with exactly this name; nil if there is none or the value is not an object.
    public subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, or nil if the value is not a string.
    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The number, or nil if the value is not written as an integer that fits.
    public var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }
}

/// The names of a JSON object so far, compared without case.
///
/// Backends compare names without case, some by Unicode's rules. Two names that only such a backend would treat as
/// equal count as duplicates here too.
struct MemberNames {
    // A linear comparison is faster for few names; a hashed set bounds the cost for many.
    private var compared: [String] = []
    private var hashed: Set<String> = []
    private static let maximumCompared = 16

    /// Adds a name. Returns false if it is a duplicate.
    mutating func insert(_ name: String) -> Bool {
        let folded =
            name.utf8.allSatisfy { $0 < 0x80 && !($0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z")) }
            ? name : name.lowercased()
        if compared.count < Self.maximumCompared {
            if compared.contains(folded) { return false }
            compared.append(folded)
            return true
        }
        if hashed.isEmpty { hashed = Set(compared) }
        return hashed.insert(folded).inserted
    }
}
