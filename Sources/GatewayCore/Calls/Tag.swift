internal import GatewaySupport

/// A tag of a registration: 1–120 bytes of `A–Z a–z 0–9 _ @ # . : -` (docs/contract.md: grammars).
///
/// Tags keep the client's spelling and are compared without case, as hubs do.
public struct Tag: Sendable, Hashable, CustomStringConvertible {
    /// The tag as the client wrote it. The backend receives this form.
    public let text: String
    /// The tag in lower case. Policy, equality and order use this form.
    public let key: String

    /// The maximum length of a tag in bytes.
    public static let maximumLength = 120

    /// Creates a tag, or returns nil if the text has another character or length.
    public init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.maximumLength).contains(bytes.count), bytes.allSatisfy(Self.isTagByte) else { return nil }
        self.text = text
        self.key = text.asciiLowercased
    }

    /// Creates the tag that addresses all devices of the user: `username:NAME`.
    public init(of user: UserName) {
        self.text = "username:\(user.text)"
        self.key = text
    }

    /// The lower-case text before the first colon; nil if there is no colon.
    public var namespace: Substring? {
        key.firstIndex(of: ":").map { key[..<$0] }
    }

    /// Compares without case.
    public static func == (left: Tag, right: Tag) -> Bool { left.key == right.key }
    /// Hashes the lower-case form.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
    /// The tag as the client wrote it.
    public var description: String { text }

    private static func isTagByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "@"), UInt8(ascii: "#"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}
