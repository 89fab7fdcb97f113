/// The name of an audience: 1–64 bytes of `a–z 0–9 _ . -`, taken in any case. What sends name as `audience:…`.
///
/// Users' names have no colon, so none can stand in an audience's place.
public struct AudienceName: Sendable, Hashable, CustomStringConvertible {
    /// The name in lower case, without `audience:`.
    public let text: String

    /// The name, or nil if it is not one.
    public init?(_ text: some StringProtocol) {
        let folded = String(text).asciiLowercased
        guard (1...64).contains(folded.utf8.count), folded.utf8.allSatisfy(Self.isNameByte) else { return nil }
        self.text = folded
    }

    /// What stands before the name wherever a user's could stand.
    public static let prefix = "audience:"

    /// What stands behind `audience:` in any case; nil for what names no audience, well or badly.
    public static func named(in text: String) -> Substring? {
        var rest = text.utf8[...]
        for byte in prefix.utf8 {
            guard rest.popFirst()?.asciiLowercased == byte else { return nil }
        }
        return Substring(rest)
    }

    /// The name.
    public var description: String { text }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        UserName.isNameByte(byte) && byte != UInt8(ascii: "@")
    }
}
