/// A user's canonical name: 1–111 bytes of `a–z 0–9 _ @ . -`, the only key that limits, policy, ledger and journal accept.
///
/// Made by `NameRules` from what somebody typed, or read back from a store that holds canonical names. `username:` and the
/// name together fit into one tag.
public struct UserName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The name, lower case, ASCII.
    public let text: String

    /// The most bytes that a name may have: a tag's 120 less `username:`.
    public static let longest = 111

    /// The name, or nil if the text is not canonical already.
    public init?(canonical text: String) {
        let bytes = text.utf8
        guard (1...Self.longest).contains(bytes.count), bytes.allSatisfy(Self.isNameByte) else { return nil }
        self.text = text
    }

    /// By bytes.
    public static func < (left: UserName, right: UserName) -> Bool { left.text < right.text }
    /// The name.
    public var description: String { text }

    /// Whether the byte belongs to the alphabet of canonical names.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// A user's name as somebody typed it: for the log only.
public struct PresentedName: Sendable, Hashable {
    /// Any valid UTF-8.
    public let text: String

    /// Wraps what was typed.
    public init(_ text: String) { self.text = text }
}

/// A user's name as an authenticator is asked for it: the presented one in lower case, or as typed where the stack needs that.
public struct LoginName: Sendable, Hashable {
    /// Any valid UTF-8.
    public let text: String

    /// Wraps a name; `NameRules.login(_:)` makes it from a presented one.
    public init(_ text: String) { self.text = text }
}

extension UserName {
    /// A name that nobody has: random text longer than anybody could guess.
    ///
    /// - Parameter random: lower-case hexadecimal digits, at most 64.
    package static func nobody(_ random: String) -> UserName {
        UserName(unchecked: "gone-\(random.prefix(64))")
    }

    private init(unchecked text: String) { self.text = text }
}
