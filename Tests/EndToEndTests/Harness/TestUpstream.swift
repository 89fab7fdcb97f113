import GatewaySupport
import NotifyBackend

/// What is behind the gateway of a test: a notify-users backend of one generation, or a notification hub that the
/// gateway uses itself.
enum TestUpstream: String, CaseIterable, Sendable {
    case classic
    case core
    case net6
    case hub

    /// Creates the upstream of a backend of the generation.
    init(_ flavor: BackendFlavor) {
        switch flavor {
        case .classic: self = .classic
        case .core: self = .core
        case .net6: self = .net6
        }
    }

    /// The generation of the backend. Behind a hub it is the one that clients bypass the gateway with, as during a
    /// migration: it uses the same hub.
    var flavor: BackendFlavor {
        switch self {
        case .classic, .hub: .classic
        case .core: .core
        case .net6: .net6
        }
    }

    /// The access to the hub with the key that the gateway has, and with one that has all rights.
    static let access = HubAccess(
        hub: "demo",
        policies: [
            HubAccess.Policy(name: "ListenSend", key: Secret(key.utf8), rights: [.listen, .send]),
            HubAccess.Policy(name: "Full", key: Secret(key.utf8), rights: [.manage]),
        ])

    private static let key = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1sb25nLi4uLi4="

    /// Returns a connection string of the hub at a port of 127.0.0.1, with the key of a policy of `access`.
    static func connectionString(port: Int, policy: String = "ListenSend") -> String {
        "Endpoint=sb://127.0.0.1:\(port)/;SharedAccessKeyName=\(policy);SharedAccessKey=\(key)"
    }

    /// Returns the settings of `backend` that name the upstream at a port of 127.0.0.1.
    func settings(port: Int) -> String {
        switch self {
        case .classic, .core, .net6: "url: \"http://127.0.0.1:\(port)\", profile: \(rawValue)"
        case .hub:
            "hub: { name: demo, connection-string: \"\(Self.connectionString(port: port))\" }"
        }
    }
}
