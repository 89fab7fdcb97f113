internal import GatewaySupport

/// The name of a fence: 1–64 bytes of `a–z 0–9 _ . -`, matched without case. A rule for sends refers to it with
/// `within`, and the journal records it.
public struct FenceName: Sendable, Hashable, CustomStringConvertible {
    /// The name in lower case.
    public let text: String

    /// Creates a name, or returns nil if the text does not match the grammar.
    public init?(_ text: some StringProtocol) {
        let folded = String(text).asciiLowercased
        guard (1...64).contains(folded.utf8.count),
            folded.utf8.allSatisfy({ UserName.isNameByte($0) && $0 != UInt8(ascii: "@") })
        else { return nil }
        self.text = folded
    }

    /// The name.
    public var description: String { text }
}
