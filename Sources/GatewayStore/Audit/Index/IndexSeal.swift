public import GatewaySupport

/// Authenticates the indexes of a journal's segments, so that queries use only those that a process with the signing key wrote.
///
/// An index decides what queries find, and its digests need no key. The seal is a message authentication code (HMAC-SHA256,
/// RFC 2104) over the header and the digests of an index, at the end of its file. Its key is derived from the journal's signing key,
/// which lies outside of the journal's directory.
public struct IndexSeal: Sendable {
    /// The length of a seal.
    static let byteCount = 32
    /// Separates the key from signatures, whose messages begin with other words.
    private static let purpose = Array("notify-gateway index\n".utf8)

    private let key: Secret

    /// Derives the key; returns nil if libcrypto fails. A signature of Ed25519 depends on key and message only (RFC 8032), and
    /// nobody without the key can compute one.
    public init?(_ signingKey: Ed25519.PrivateKey) {
        guard let signature = signingKey.signature(of: Self.purpose), let digest = SHA256.digest(signature) else {
            return nil
        }
        key = Secret(digest)
    }

    /// Returns the seal of an index; nil if libcrypto fails.
    ///
    /// - Parameters:
    ///   - header: The header as it is stored.
    ///   - digests: The table of digests as it is stored.
    func seal(of header: [UInt8], _ digests: [UInt8]) -> [UInt8]? {
        HMAC(.sha256, key: key)?.tag(over: header, digests)
    }
}
