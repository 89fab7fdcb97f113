internal import GatewaySupport

/// The name of an audience: 1–64 bytes of `a–z 0–9 _ . -`, matched without case. Sends address it as `audience:NAME`.
///
/// User names contain no colon, so an audience's address is never the name of a user.
public struct AudienceName: Sendable, Hashable, CustomStringConvertible {
    /// The name in lower case, without `audience:`.
    public let text: String

    /// Creates a name, or returns nil if the text does not match the grammar.
    public init?(_ text: some StringProtocol) {
        let folded = String(text).asciiLowercased
        guard (1...64).contains(folded.utf8.count), folded.utf8.allSatisfy(Self.isNameByte) else { return nil }
        self.text = folded
    }

    /// The prefix that marks an audience where a user name could stand.
    public static let prefix = "audience:"

    /// Returns the text after `audience:` (matched without case), valid or not; nil if the text lacks the prefix.
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
