internal import CLibcrypto

/// A signature algorithm of tokens (RFC 7518, section 3.1; RFC 8037; RFC 9864). All of them are asymmetric: with a
/// symmetric one, everybody who can read the provider's public keys could sign.
public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256, -384 and -512.
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    /// RSASSA-PSS with SHA-256, -384 and -512; the salt is as long as the digest.
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// ECDSA with P-384 and SHA-384.
    case es384 = "ES384"
    /// EdDSA; the gateway supports its curve Ed25519.
    case edDSA = "EdDSA"
    /// The same as `edDSA`, under the name of RFC 9864.
    case ed25519 = "Ed25519"

    /// The kind of key that the algorithm needs.
    var keyKind: PublicKey.Kind {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256: .p256
        case .es384: .p384
        case .edDSA, .ed25519: .ed25519
        }
    }

    /// Whether the padding of RSA is PSS.
    var isPSS: Bool {
        switch self {
        case .ps256, .ps384, .ps512: true
        case .rs256, .rs384, .rs512, .es256, .es384, .edDSA, .ed25519: false
        }
    }

    /// libcrypto's digest; nil for Ed25519, which hashes the message itself.
    var digest: OpaquePointer? {
        switch self {
        case .rs256, .ps256, .es256: EVP_sha256()
        case .rs384, .ps384, .es384: EVP_sha384()
        case .rs512, .ps512: EVP_sha512()
        case .edDSA, .ed25519: nil
        }
    }
}
