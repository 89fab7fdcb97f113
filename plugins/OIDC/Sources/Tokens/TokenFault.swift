internal import GatewayCore

/// The reason why a token is not accepted.
enum TokenFault: Error, Sendable, Hashable {
    /// `alg` is not one of the configured algorithms.
    case algorithm
    /// The header has a parameter that changes the verification.
    case forbiddenParameter
    /// `typ` is that of another kind of token.
    case type
    /// `kid` is not text of a usable length.
    case keyID
    /// Several keys of the provider fit the token.
    case ambiguousKey
    /// The signature does not match.
    case signature
    /// libcrypto failed, so the signature was not checked.
    case libcrypto
    /// A claim is missing or has the wrong type.
    case claim(String)
    /// `aud` does not contain the configured audience.
    case audience
    /// `azp` or `client_id` is not a configured client.
    case authorizedParty
    /// `nonce` is not that of the login.
    case nonce
    /// `auth_time` is missing or older than the login requires.
    case authenticationTime
    /// `scope` does not contain a configured one.
    case scope
    /// The token is bound to a key of its client, which a bearer token does not prove.
    case boundToClient
    /// The provider has not verified the address in `email`.
    case unverifiedEmail
    /// `exp` is not after `iat`, or more than 7 days after it.
    case lifetime
    case expired
    case notYetValid
    /// The user claim has no canonical form.
    case unmapped

    /// The reason for logs and metrics.
    var reason: InvalidCredentialReason {
        switch self {
        case .claim: .malformed
        case .algorithm, .forbiddenParameter, .type, .keyID, .ambiguousKey, .signature, .libcrypto, .audience,
            .authorizedParty, .scope, .boundToClient, .unverifiedEmail, .lifetime, .nonce,
            .authenticationTime:
            .untrusted
        case .expired: .expired
        case .notYetValid: .notYetValid
        case .unmapped: .unmapped
        }
    }
}
