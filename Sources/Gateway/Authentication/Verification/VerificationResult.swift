internal import GatewayCore

/// The result of verifying a credential, with the authenticator that decided.
struct VerificationResult: Sendable {
    let outcome: AuthenticationOutcome
    /// The authenticator that decided; nil if none did: all responded `notMine`, the deadline passed, or too many
    /// verifications were in progress.
    var authenticator: PluginName?

    /// Returns the result that the credential cannot be verified.
    static func unavailable(_ reason: OutageReason) -> VerificationResult {
        VerificationResult(outcome: .unavailable(reason))
    }
}
