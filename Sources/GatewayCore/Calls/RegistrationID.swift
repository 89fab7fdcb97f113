/// The id that a notification hub gives a registration: exactly `[0-9]{1,20}-[0-9]{1,20}-[0-9]{1,3}`.
///
/// A looser grammar would let the id leave the URL path segment that it is written into; `..`, for example, would
/// address the hub itself.
public struct RegistrationID: Sendable, Hashable, CustomStringConvertible {
    /// The id on the wire: digits and two hyphens, 5 to 45 bytes.
    public let text: String

    /// Creates an id, or returns nil if the text does not match the grammar.
    public init?(_ text: some StringProtocol) {
        guard Self.matches(text.utf8) else { return nil }
        self.text = String(text)
    }

    /// The id.
    public var description: String { text }

    private static func matches(_ bytes: some Collection<UInt8>) -> Bool {
        let longest = [20, 20, 3]
        var part = 0
        var digits = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                digits += 1
                if digits > longest[part] { return false }
            case UInt8(ascii: "-"):
                if digits == 0 || part == 2 { return false }
                part += 1
                digits = 0
            default:
                return false
            }
        }
        return part == 2 && digits > 0
    }
}
