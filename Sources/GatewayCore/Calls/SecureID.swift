internal import GatewaySupport

/// The id of a secure notification, which a push contains in place of the text: a positive number of 31 bits.
///
/// Clients of the tutorial read it as a signed 32-bit number.
public struct SecureID: Sendable, Hashable {
    /// The number, at least 1.
    public let number: Int32

    /// Creates an id from a number; returns nil for one below 1 or of more than 31 bits.
    public init?(_ number: Int64) {
        guard let number = Int32(exactly: number), number > 0 else { return nil }
        self.number = number
    }

    /// Parses decimal digits without leading zeros.
    public init?(_ text: String) {
        guard (1...10).contains(text.utf8.count), text.utf8.first != UInt8(ascii: "0"),
            text.utf8.allSatisfy(\.isASCIIDigit), let number = Int64(text)
        else { return nil }
        self.init(number)
    }

    /// Creates an id from random bits; returns nil for one value in 2^31, which is no id.
    public init?(random bits: UInt64) { self.init(Int64(bits >> 33)) }

    /// The decimal digits.
    public var text: String { String(number) }
}
