public import GatewaySupport

/// An authenticator whose identity provider announces that users log out (OpenID Connect Back-Channel Logout 1.0).
///
/// The gateway then ends the sessions that began with the provider's tokens, and refuses the provider's earlier tokens.
public protocol LogoutReceiver: Authenticator {
    /// Whether the configuration lets the provider announce logouts.
    var receivesLogouts: Bool { get }

    /// Verifies a logout token of the provider. A token is accepted once.
    ///
    /// Called on the event loop of the call. Returns `notMine` for a token of another issuer.
    func verifyLogout(_ token: Secret) async -> LogoutOutcome
}

/// The result of verifying a logout token.
public enum LogoutOutcome: Sendable, Hashable {
    /// The token is of another issuer.
    case notMine
    /// The token is valid.
    case accepted(ProviderLogout)
    /// The token is invalid, or was presented before.
    case rejected(InvalidCredentialReason)
    /// The token cannot be verified now.
    case unavailable(OutageReason)
}
