/// A canonical user name: 1–111 bytes of `a–z 0–9 _ @ . -`. Limits, policy and ledger accept no other form of a user's
/// name. The journal also records the name that a client presented and that is not verified, as `PresentedName`.
///
/// Created by `NameRules` from input, or read from a store of canonical names. Its text never becomes a `LoginName`: an
/// escaped name would be escaped again. `NameRules.login(of:)` is the way back. `username:` and the name together fit into
/// one tag.
public struct UserName: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The name in lower-case ASCII.
    public let text: String

    /// The maximum length in bytes: the 120 of a tag less `username:`.
    public static let maximumLength = 111

    /// Creates a name from a store of canonical names; nil if the text is not in their alphabet. Input goes through
    /// `NameRules`.
    public init?(canonical text: String) {
        let bytes = text.utf8
        guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(Self.isNameByte) else { return nil }
        self.text = text
    }

    /// Orders names by their bytes.
    public static func < (left: UserName, right: UserName) -> Bool { left.text < right.text }
    /// The name.
    public var description: String { text }

    /// Returns whether the byte is in the alphabet of canonical names.
    static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "."), UInt8(ascii: "-"): true
        default: false
        }
    }
}

/// A user name as a person typed it: at a login, or to mean a user. `NameRules.login(_:)` makes the name of a login of
/// it, `NameRules.user(_:)` the user who is meant.
public struct PresentedName: Sendable, Hashable {
    /// Any valid UTF-8.
    public let text: String

    /// Wraps the received name.
    public init(_ text: String) { self.text = text }
}

/// The name of an account, as its authenticator receives it (in lower case, or as typed if the configuration says so) or
/// reports it. `NameRules.canonical(_:)` makes the user of it.
public struct LoginName: Sendable, Hashable {
    /// Any valid UTF-8.
    public let text: String

    /// Wraps a name that an authenticator reports or its accounts list. `NameRules.login(_:)` makes it from a presented
    /// name, `NameRules.login(of:)` from a user.
    public init(_ text: String) { self.text = text }
}

extension UserName {
    /// Returns a name that no user has and that cannot be guessed.
    ///
    /// - Parameter random: Random lower-case hexadecimal digits; at most 64 are used.
    package static func nobody(_ random: String) -> UserName {
        UserName(unchecked: "gone-\(random.prefix(64))")
    }

    private init(unchecked text: String) { self.text = text }
}
