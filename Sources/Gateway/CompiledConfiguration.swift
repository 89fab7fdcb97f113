public import GatewayCore
internal import GatewaySupport

/// The configuration of a gateway, checked and prepared for the request pipeline.
public struct CompiledConfiguration: Sendable {
    /// The rules that make names canonical.
    public var names: NameRules
    /// The grammar of device handles.
    public var handles: HandleRules
    /// The formats of clients.
    public var client: BackendProfile.ClientSide
    /// The upstreams; at least one.
    public var upstreams: [UpstreamRules]
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
    /// The rules of secure sends; nil if there are none.
    public var secureSends: SecureSendRules?
    /// The rule that selects the calls with spans; nil if tracing is turned off.
    public var tracing: TraceSampling?

    /// Creates a configuration.
    public init(
        names: NameRules, handles: HandleRules = HandleRules(), client: BackendProfile.ClientSide,
        upstreams: [UpstreamRules], messages: MessageExtraction = .auto, authenticators: AuthenticatorChain,
        authentication: AuthenticationRules = AuthenticationRules(), policy: Policy, limiter: Limiter,
        throttle: LoginThrottle? = nil, passwordCache: PasswordCache? = nil, sends: IdempotencyStore? = nil,
        callsInFlight: CallerConcurrencyLimit.Bounds = CallerConcurrencyLimit.Bounds(),
        secureSends: SecureSendRules? = nil
    ) {
        self.names = names
        self.handles = handles
        self.client = client
        self.upstreams = upstreams
        self.messages = messages
        self.authenticators = authenticators
        self.authentication = authentication
        self.policy = policy
        self.limiter = limiter
        self.throttle = throttle
        self.passwordCache = passwordCache
        self.sends = sends
        self.callsInFlight = callsInFlight
        self.secureSends = secureSends
    }
}

// The phases of `Gateway` that the dry run also uses, created from the configuration.

extension Parsing {
    init(_ rules: CompiledConfiguration) {
        let platforms = ServedPlatforms(rules.upstreams)
        self.init(
            routes: RouteTable(
                rules.client, issuesTokens: rules.authenticators.issuer != nil,
                schedulesSends: platforms.schedulesSends, offersSecureSends: rules.secureSends != nil,
                receivesLogouts: !rules.authenticators.logoutReceivers.isEmpty),
            names: rules.names, handles: rules.handles, client: rules.client, platforms: platforms,
            messages: rules.messages,
            sendParameters: Self.sendParameters(
                schedulesSends: platforms.schedulesSends, offersSecureSends: rules.secureSends != nil))
    }
}

extension Authorization {
    init(
        _ rules: CompiledConfiguration, upstreams: UpstreamTable, ledger: any RegistrationLedger,
        sessions: any SessionStore, history: any NotificationHistory, historyLimiter: Limiter,
        secure: SecureTextAccess?, clocks: Clocks,
        digester: KeyedDigester
    ) {
        self.init(
            policy: rules.policy, sendRules: SendRules(rules.policy.send, fences: rules.policy.fences), ledger: ledger,
            limiter: rules.limiter, sessions: sessions, chain: rules.authenticators, names: rules.names,
            history: history, historyLimiter: historyLimiter, upstreams: upstreams, secure: secure, clocks: clocks,
            digester: digester)
    }

    /// Returns a copy that counts the sends that each rule matches.
    func counting(_ matches: [Counter]) -> Authorization {
        var copy = self
        copy.sendRules = SendRules(policy.send, fences: policy.fences, counting: matches)
        return copy
    }
}

extension Idempotency {
    /// Creates the phase. Not used by the dry run.
    init(_ rules: CompiledConfiguration, _ dependencies: GatewayDependencies, replacing previous: Idempotency?) {
        self.init(
            store: rules.sends ?? previous?.store ?? IdempotencyStore(clocks: dependencies.clocks),
            register: dependencies.keyedSends, digester: dependencies.digester, limiter: rules.limiter,
            journal: dependencies.journal)
    }
}
