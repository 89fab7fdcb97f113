public import GatewayCore

/// Why a token is not good, in the order in which it is looked at.
public enum TokenFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Not three parts of base64url, or longer than 4 KiB.
    case malformed
    /// The first part is no JSON object.
    case unreadableHeader
    /// The header has no `kid`.
    case noKeyNamed
    /// The key file has no such key.
    case unknownKey(String)
    /// `alg` is not the key's, or the header says something that no token here may say.
    case unfitHeader(key: String)
    /// The key has not begun yet, or has ended.
    case keyNotValid(key: String)
    /// The tag is not what the key makes of the rest.
    case wrongSignature(key: String)
    /// libcrypto failed: nothing is known.
    case failed
    /// A required claim is missing, or one is of the wrong type.
    case unreadableClaims
    /// `iss` is another's.
    case otherIssuer(configured: String)
    /// `aud` is not, and does not hold, the configured one.
    case otherAudience(configured: String)
    /// `exp` is not after `iat`, or more than 7 days after it.
    case lifetime
    /// `exp` has passed.
    case expired
    /// `iat` or `nbf` lies ahead.
    case notYetValid
    /// `sub` is not a canonical user name.
    case unmapped
    /// The key may not speak for this user, or not in these groups.
    case outOfBounds(key: String)
    /// `sid` is no session's.
    case noSession

    /// The word for it in log and metrics.
    public var reason: RejectionReason {
        switch self {
        case .malformed, .unreadableHeader, .unreadableClaims, .noSession: .malformed
        case .noKeyNamed, .unknownKey, .unfitHeader, .keyNotValid, .wrongSignature, .failed, .otherIssuer,
            .otherAudience, .lifetime, .outOfBounds:
            .untrusted
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .unmapped: .unmapped
        }
    }

    /// A sentence for the operator.
    public var description: String {
        switch self {
        case .malformed: "it is not three parts of base64url between two dots, of at most \(CompactToken.longest) bytes"
        case .unreadableHeader: "its header is no JSON object"
        case .noKeyNamed: "its header names no key (kid)"
        case .unknownKey(let id): "the key file has no key \"\(id)\""
        case .unfitHeader(let id):
            "alg is not that of the key \"\(id)\", or its header says more than alg, kid and typ JWT"
        case .keyNotValid(let id): "the key \"\(id)\" is not valid now"
        case .wrongSignature(let id): "the key \"\(id)\" did not sign this"
        case .failed: "the system's libcrypto failed"
        case .unreadableClaims: "a required claim is missing, or one is of the wrong type"
        case .otherIssuer(let issuer): "iss is not \"\(issuer)\""
        case .otherAudience(let audience): "aud does not name \"\(audience)\""
        case .lifetime: "exp is not after iat, or later than \(HMACTokenPlugin.longestLifetime.configured) after it"
        case .expired: "it has expired"
        case .notYetValid: "iat or nbf lies ahead"
        case .unmapped: "sub is not a user name in its canonical form"
        case .outOfBounds(let id): "the key \"\(id)\" may not speak for this user, or not in these groups"
        case .noSession: "sid is no id of a session"
        }
    }
}
