package import Gateway
internal import GatewayCore
internal import NIOCore

extension ServerConfiguration {
    /// Returns the rules of a gateway of this configuration.
    ///
    /// - Parameters:
    ///   - chain: The created authenticators.
    ///   - limiter: The limiter that counts the calls.
    ///   - throttle: The rate limit of failed logins.
    ///   - passwordCache: The cache of password verification results.
    ///   - sends: The store of idempotent sends.
    package func rules(
        chain: AuthenticatorChain, limiter: Limiter, throttle: LoginThrottle, passwordCache: PasswordCache,
        sends: IdempotencyStore
    ) -> CompiledConfiguration {
        let (seconds, attoseconds) = backend.timeout.components
        return CompiledConfiguration(
            names: names, handles: backend.handles, profile: backend.profile, messages: backend.messages,
            authenticators: chain, authentication: authentication, policy: policy, limiter: limiter,
            throttle: throttle, passwordCache: passwordCache, sends: sends, callsInFlight: callsOfOne,
            credential: backend.credential,
            backendHost: backend.address.hostField,
            backendDeadline: .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000))
    }
}
