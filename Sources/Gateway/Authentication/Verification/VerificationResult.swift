internal import GatewayCore

/// The result of verifying a credential, with the authenticator that decided.
struct VerificationResult: Sendable {
    let outcome: AuthenticationOutcome
    /// The authenticator that decided; nil if none did, because of a full queue or the deadline.
    var authenticator: PluginName?

    /// Returns the result that the credential cannot be verified.
    static func unavailable(_ reason: OutageReason) -> VerificationResult {
        VerificationResult(outcome: .unavailable(reason))
    }
}
