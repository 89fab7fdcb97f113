public import GatewayCore
public import NIOCore

/// What a gateway decides by: everything that the configuration says, compiled.
public struct GatewayRules: Sendable {
    /// How names become canonical.
    public var names: NameRules
    /// The grammar of device handles.
    public var handles: HandleRules
    /// What clients send and what the backend takes.
    public var profile: BackendProfile
    /// How the text of a message is found.
    public var messages: MessageReading
    /// Who judges credentials.
    public var authenticators: AuthenticatorChain
    /// How long they may take, and when bad credentials are answered.
    public var authentication: AuthenticationRules
    /// Who may notify whom, and register what.
    public var policy: Policy
    /// How often.
    public var limiter: Limiter
    /// How often wrong passwords may be tried; where it is nil the gateway has one of its own.
    public var throttle: LoginThrottle?
    /// What was said of passwords; where it is nil the gateway has one of its own.
    public var verdicts: VerdictCache?
    /// What became of sends with an idempotency key; where it is nil the gateway has a memory of its own.
    public var sends: SendMemory?
    /// How many calls of one user and of one address may be in flight.
    public var callsInFlight: CallsInFlight.Bounds
    /// How the backend is told who the user is.
    public var credential: UpstreamCredential
    /// What the backend's `Host` field gets.
    public var backendHost: String
    /// How long the backend may take for one call.
    public var backendDeadline: TimeAmount

    /// Rules from their parts.
    public init(
        names: NameRules, handles: HandleRules = HandleRules(), profile: BackendProfile,
        messages: MessageReading = .auto, authenticators: AuthenticatorChain,
        authentication: AuthenticationRules = AuthenticationRules(), policy: Policy, limiter: Limiter,
        throttle: LoginThrottle? = nil, verdicts: VerdictCache? = nil, sends: SendMemory? = nil,
        callsInFlight: CallsInFlight.Bounds = CallsInFlight.Bounds(), credential: UpstreamCredential = .mirror,
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
        self.verdicts = verdicts
        self.sends = sends
        self.callsInFlight = callsInFlight
        self.credential = credential
        self.backendHost = backendHost
        self.backendDeadline = backendDeadline
    }
}
