public import GatewayCore
internal import GatewaySupport
public import NIOCore

/// The configuration of one upstream, a notify-users backend or a notification hub, as far as requests depend on it.
public struct UpstreamRules: Sendable {
    /// The name in ledger and metrics.
    public var name: UpstreamName
    /// The push services whose devices and sends it serves. No two upstreams serve the same one.
    public var services: Set<PushService>
    /// The protocol. Of a hub: what it supports.
    public var backend: BackendProfile.BackendSide
    /// The notification hub; nil for a notify-users backend.
    public var hub: HubSettings?
    /// The credential that identifies the user to the backend.
    public var credential: UpstreamCredential
    /// The value of the `Host` field of requests.
    public var host: String
    /// The time limit for all requests of one call.
    public var deadline: TimeAmount

    /// Creates the rules, by default for an upstream that serves every push service.
    public init(
        name: UpstreamName = UpstreamName("backend"), services: Set<PushService> = Set(PushService.allCases),
        backend: BackendProfile.BackendSide, hub: HubSettings? = nil, credential: UpstreamCredential = .mirror,
        host: String, deadline: TimeAmount = .seconds(65)
    ) {
        self.name = name
        self.services = services
        self.backend = backend
        self.hub = hub
        self.credential = credential
        self.host = host
        self.deadline = deadline
    }

    /// Returns the codec of the upstream's protocol.
    func makeCodec(clocks: Clocks) -> any StepCodec {
        if let hub { return HubCodec(hub, clocks: clocks) }
        return NotifyUsersCodec(backend: backend, host: host, credential: credential)
    }
}
