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
    /// Who may notify whom, and register what.
    public var policy: Policy
    /// How often.
    public var limiter: Limiter
    /// How the backend is told who the user is.
    public var credential: UpstreamCredential
    /// What the backend's `Host` field gets.
    public var backendHost: String
    /// How long the backend may take for one call.
    public var backendDeadline: TimeAmount

    /// Rules from their parts.
    public init(
        names: NameRules, handles: HandleRules = HandleRules(), profile: BackendProfile,
        messages: MessageReading = .auto, authenticators: AuthenticatorChain, policy: Policy, limiter: Limiter,
        credential: UpstreamCredential = .mirror, backendHost: String, backendDeadline: TimeAmount = .seconds(65)
    ) {
        self.names = names
        self.handles = handles
        self.profile = profile
        self.messages = messages
        self.authenticators = authenticators
        self.policy = policy
        self.limiter = limiter
        self.credential = credential
        self.backendHost = backendHost
        self.backendDeadline = backendDeadline
    }
}
