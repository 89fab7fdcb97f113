public import GatewayConfiguration

/// The addresses of a started gateway.
public struct StartedGateway: Sendable, Hashable {
    /// The listeners in the order of the configuration, with the ports that the system assigned.
    public let listeners: [ListenAddress]
    /// The admin listener.
    public let admin: ListenAddress
    /// The console; nil without one.
    public let console: ListenAddress?
    /// The port on 127.0.0.1 of each backend of the configuration; nil for one that is not embedded.
    public let embeddedBackendPorts: [Int?]

    /// The port of the first embedded backend; nil without one.
    public var embeddedBackendPort: Int? { embeddedBackendPorts.lazy.compactMap(\.self).first }
}
