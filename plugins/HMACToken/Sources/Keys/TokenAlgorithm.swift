internal import GatewayCore
internal import GatewaySupport

/// The accepted signature algorithms (RFC 7518, section 3.2). Each key has exactly one.
public enum TokenAlgorithm: String, Sendable, CaseIterable {
    /// HMAC with SHA-256, keys of at least 32 bytes.
    case hs256 = "HS256"
    /// HMAC with SHA-384, keys of at least 48 bytes.
    case hs384 = "HS384"
    /// HMAC with SHA-512, keys of at least 64 bytes.
    case hs512 = "HS512"

    /// The hash function of the HMAC.
    var digest: HMAC.Algorithm {
        switch self {
        case .hs256: .sha256
        case .hs384: .sha384
        case .hs512: .sha512
        }
    }

    /// The least length of a secret in bytes, and the length of a generated one.
    var keyByteCount: Int { digest.byteCount }
}
