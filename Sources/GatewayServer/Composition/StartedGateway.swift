public import GatewayConfiguration

/// The addresses of a started gateway.
public struct StartedGateway: Sendable, Hashable {
    /// The listeners in the order of the configuration, with the ports that the system assigned.
    public let listeners: [ListenAddress]
    /// The admin listener.
    public let admin: ListenAddress
    /// The port of the embedded backend on 127.0.0.1; nil without an embedded backend.
    public let embeddedBackendPort: Int?
}
