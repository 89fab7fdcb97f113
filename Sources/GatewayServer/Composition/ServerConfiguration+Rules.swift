internal import Gateway
internal import GatewayCore
internal import NIOCore

extension ServerConfiguration {
    /// What a gateway of this configuration decides by.
    ///
    /// - Parameters:
    ///   - chain: the configured authenticators, made.
    ///   - limiter: what counts the calls.
    ///   - throttle: how often wrong passwords may be tried.
    ///   - passwordCache: what was said of passwords.
    ///   - sends: the sends that may be presented again.
    func rules(
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
