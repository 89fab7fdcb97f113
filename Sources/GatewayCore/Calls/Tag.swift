/// A tag of a registration: 1–120 bytes of `A–Z a–z 0–9 _ @ # . : -` (contract: grammars).
///
/// Tags are kept as written and compared without case, as hubs do.
public struct Tag: Sendable, Hashable, CustomStringConvertible {
    /// The tag as the client wrote it; this is what the backend is told.
    public let text: String
    /// The tag in lower case: what decisions, equality and order go by.
    public let key: String

    /// The most bytes that a tag may have.
    public static let longest = 120

    /// The tag, or nil if the text is outside the alphabet or the length.
    public init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.longest).contains(bytes.count), bytes.allSatisfy(Self.isTagByte) else { return nil }
        self.text = text
        self.key = text.asciiLowercased
    }

    /// The one tag by which a user is reached.
    public init(of user: UserName) {
        self.text = "username:\(user.text)"
        self.key = text
    }

    /// What stands before the first colon, in lower case; nil where there is no colon.
    public var namespace: Substring? {
        key.firstIndex(of: ":").map { key[..<$0] }
    }

    /// Without case.
    public static func == (left: Tag, right: Tag) -> Bool { left.key == right.key }
    /// Without case.
    public func hash(into hasher: inout Hasher) { hasher.combine(key) }
    /// The tag as written.
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
