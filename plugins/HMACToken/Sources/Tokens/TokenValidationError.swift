public import GatewayCore
internal import GatewaySupport

/// The reason why a token is invalid. The cases are in the order of the checks.
public enum TokenValidationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The token is not three parts of base64url, or is longer than 4 KiB.
    case malformed
    /// The header is not a JSON object.
    case unreadableHeader
    /// The header has no `kid`.
    case missingKeyID
    /// The key file has no key with this id.
    case unknownKey(String)
    /// `alg` is not the key's algorithm, or the header has a forbidden parameter.
    case unacceptableHeader(key: String)
    /// The key is not valid yet, or has expired.
    case keyNotValid(key: String)
    /// The signature does not match.
    case wrongSignature(key: String)
    /// libcrypto failed, so the signature was not checked.
    case failed
    /// A required claim is missing, or one is of the wrong type.
    case unreadableClaims
    /// `iss` is not the configured issuer.
    case issuerMismatch(configured: String)
    /// `aud` does not equal or contain the configured audience.
    case audienceMismatch(configured: String)
    /// `exp` is not after `iat`, or more than 7 days after it.
    case lifetime
    /// `exp` has passed.
    case expired
    /// `iat` or `nbf` is in the future.
    case notYetValid
    /// `sub` is not a canonical user name.
    case unmapped
    /// The key may not sign for this user or these groups.
    case keyNotAuthorized(key: String)
    /// `sid` is not the id of a session.
    case invalidSessionID

    /// The rejection reason for logs and metrics.
    public var reason: InvalidCredentialReason {
        switch self {
        case .malformed, .unreadableHeader, .unreadableClaims, .invalidSessionID: .malformed
        case .missingKeyID, .unknownKey, .unacceptableHeader, .keyNotValid, .wrongSignature, .failed, .issuerMismatch,
            .audienceMismatch, .lifetime, .keyNotAuthorized:
            .untrusted
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .unmapped: .unmapped
        }
    }

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .malformed:
            "it is not three parts of base64url between two dots, of at most \(CompactToken.maximumLength) bytes"
        case .unreadableHeader: "its header is not a JSON object"
        case .missingKeyID: "its header has no key id (kid)"
        case .unknownKey(let id): "the key file has no key \"\(id)\""
        case .unacceptableHeader(let id):
            "alg is not that of the key \"\(id)\", or its header says more than alg, kid and typ JWT"
        case .keyNotValid(let id): "the key \"\(id)\" is not valid now"
        case .wrongSignature(let id): "the key \"\(id)\" did not sign this"
        case .failed: "the system's libcrypto failed"
        case .unreadableClaims: "a required claim is missing, or one is of the wrong type"
        case .issuerMismatch(let issuer): "iss is not \"\(issuer)\""
        case .audienceMismatch(let audience): "aud does not name \"\(audience)\""
        case .lifetime: "exp is not after iat, or later than \(HMACTokenPlugin.maximumLifetime.configured) after it"
        case .expired: "it has expired"
        case .notYetValid: "iat or nbf is in the future"
        case .unmapped: "sub is not a user name in its canonical form"
        case .keyNotAuthorized(let id): "the key \"\(id)\" may not sign for this user or these groups"
        case .invalidSessionID: "sid is not a session id"
        }
    }
}
