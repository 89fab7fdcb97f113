public import GatewayCore
internal import GatewaySupport
public import NIOCore

/// The configuration of a gateway, checked and prepared for the request pipeline.
public struct CompiledConfiguration: Sendable {
    /// The rules that make names canonical.
    public var names: NameRules
    /// The grammar of device handles.
    public var handles: HandleRules
    /// The formats of clients and of the backend.
    public var profile: BackendProfile
    /// The rule for reading the text of a message from a request.
    public var messages: MessageExtraction
    /// The authenticators.
    public var authenticators: AuthenticatorChain
    /// The time limits of authentication.
    public var authentication: AuthenticationRules
    /// The policy for sends and tags.
    public var policy: Policy
    /// The rate limiter with its configured limits.
    public var limiter: Limiter
    /// The rate limit of failed logins; nil to create one.
    public var throttle: LoginThrottle?
    /// The cache of password verification results; nil to create one.
    public var passwordCache: PasswordCache?
    /// The idempotency store; nil to create one.
    public var sends: IdempotencyStore?
    /// The maximum numbers of calls in flight for each user and each client address.
    public var callsInFlight: CallerConcurrencyLimit.Bounds
    /// The credential that identifies the user to the backend.
    public var credential: UpstreamCredential
    /// The notification hub if that is the backend; nil for a notify-users backend.
    public var hub: HubSettings?
    /// The value of the `Host` field of requests to the backend.
    public var backendHost: String
    /// The time limit for all backend requests of one call.
    public var backendDeadline: TimeAmount

    /// Creates a configuration.
    public init(
        names: NameRules, handles: HandleRules = HandleRules(), profile: BackendProfile,
        messages: MessageExtraction = .auto, authenticators: AuthenticatorChain,
        authentication: AuthenticationRules = AuthenticationRules(), policy: Policy, limiter: Limiter,
        throttle: LoginThrottle? = nil, passwordCache: PasswordCache? = nil, sends: IdempotencyStore? = nil,
        callsInFlight: CallerConcurrencyLimit.Bounds = CallerConcurrencyLimit.Bounds(),
        credential: UpstreamCredential = .mirror, hub: HubSettings? = nil,
        backendHost: String, backendDeadline: TimeAmount = .seconds(65)
    ) {
        self.names = names
        self.handles = handles
        self.profile = profile
        self.messages = messages
        self.authenticators = authenticators
        self.authentication = authentication
        self.policy = policy
        self.limiter = limiter
        self.throttle = throttle
        self.passwordCache = passwordCache
        self.sends = sends
        self.callsInFlight = callsInFlight
        self.credential = credential
        self.hub = hub
        self.backendHost = backendHost
        self.backendDeadline = backendDeadline
    }
}

// The phases of `Gateway` that the dry run also uses, created from the configuration.

extension Parsing {
    init(_ rules: CompiledConfiguration) {
        self.init(
            routes: RouteTable(
                rules.profile.client, issuesTokens: rules.authenticators.issuer != nil,
                schedulesSends: rules.profile.backend.schedulesSends),
            names: rules.names, handles: rules.handles, profile: rules.profile, messages: rules.messages)
    }
}

extension Authorization {
    init(
        _ rules: CompiledConfiguration, ledger: any RegistrationLedger, sessions: any SessionStore,
        history: any NotificationHistory, historyLimiter: Limiter, clocks: Clocks, digester: KeyedDigester
    ) {
        self.init(
            policy: rules.policy, sendRules: SendRules(rules.policy.send, fences: rules.policy.fences), ledger: ledger,
            limiter: rules.limiter, sessions: sessions, chain: rules.authenticators, history: history,
            historyLimiter: historyLimiter, clocks: clocks, digester: digester)
    }
}

extension CompiledConfiguration {
    /// Returns the codec of the backend's protocol.
    func makeCodec(clocks: Clocks) -> any StepCodec {
        if let hub { return HubCodec(hub, clocks: clocks) }
        return NotifyUsersCodec(backend: profile.backend, host: backendHost, credential: credential)
    }
}
