/// The id of a session: 22 characters of base64url, 128 random bits. Names a session, and is no credential.
public struct SessionID: Sendable, Hashable, CustomStringConvertible {
    /// The id.
    public let text: String

    /// The id, or nil if the text is not one.
    public init?(_ text: String) {
        guard text.utf8.count == 22, let bytes = Base64.decode(Array(text.utf8).span, .url), bytes.count == 16 else {
            return nil
        }
        self.text = text
    }

    /// The id of 128 bits that nobody could foretell.
    public init(random: (UInt64, UInt64)) {
        var bytes: [UInt8] = []
        withUnsafeBytes(of: random.0.bigEndian) { bytes += $0 }
        withUnsafeBytes(of: random.1.bigEndian) { bytes += $0 }
        text = String(decoding: Base64.encode(bytes, .url), as: UTF8.self)
    }

    /// The id.
    public var description: String { text }
}
