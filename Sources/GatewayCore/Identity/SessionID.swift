internal import GatewaySupport

/// The id of a session: 128 random bits as 22 characters of base64url. It is not a credential.
public struct SessionID: Sendable, Hashable, CustomStringConvertible {
    /// The id.
    public let text: String

    /// Creates an id, or returns nil if the text does not match the grammar.
    public init?(_ text: String) {
        guard text.utf8.count == 22, let bytes = Base64.decode(Array(text.utf8).span, .url), bytes.count == 16 else {
            return nil
        }
        self.text = text
    }

    /// Creates an id from 128 unpredictable bits.
    public init(random: (UInt64, UInt64)) {
        var bytes: [UInt8] = []
        withUnsafeBytes(of: random.0.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: random.1.bigEndian) { bytes += $0 }
        text = String(decoding: Base64.encode(bytes, .url), as: UTF8.self)
    }

    /// The id.
    public var description: String { text }
}
