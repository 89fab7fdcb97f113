/// One device registration in the hub.
public struct Registration: Sendable, Equatable {
    /// The id. The hub assigns ids of the form `digits-digits-digits`, but accepts others too.
    public let id: String
    /// The platform name of the registration: `mpns`, `wns`, `apns`, `gcm`, `fcm` or `fcmv1`.
    public let platform: String
    /// The push handle. APNs handles are in upper case, as the hub stores them.
    public let handle: String
    /// The tags after the comma-separated list was split. Sends match them without case.
    public let tags: [String]
    /// The number of times that the registration was written, from 1. The hub's REST interface states it as entity tag.
    public internal(set) var version = 1
}

/// The push service behind a platform or `pns` name. Google's service has three names: a device registered with one of
/// them receives sends with another.
enum PushService: Sendable, Equatable {
    case apple, google, windows, windowsPhone

    /// Creates the service of a lower-case platform or `pns` name; returns nil for an unknown name.
    init?(word: String) {
        switch word {
        case "apns": self = .apple
        case "gcm", "fcm", "fcmv1": self = .google
        case "wns": self = .windows
        case "mpns": self = .windowsPhone
        default: return nil
        }
    }

    /// The largest payload that the service delivers, in bytes (contract: payload limits).
    var payloadLimit: Int {
        switch self {
        case .apple, .google: 4096
        case .windows: 5120
        case .windowsPhone: 3072
        }
    }
}

/// The resource at the URL `<hub>/registrations/<id>` after its dot segments are resolved.
///
/// Backends insert the id into that URL, so that the id `..` addresses the hub itself, with the backend's Manage key.
enum HubAddress: Equatable {
    case hub
    case registration(String)

    /// Resolves an id. Throws ``HubFailure/notFound`` for an address without a resource.
    init(id: String) throws(HubFailure) {
        var path = ["registrations"]
        for segment in id.split(separator: "/", omittingEmptySubsequences: true) {
            switch segment {
            case ".": continue
            case "..": if path.isEmpty { throw .notFound } else { path.removeLast() }
            default: path.append(String(segment))
            }
        }
        switch (path.count, path.first) {
        case (0, _): self = .hub
        case (2, "registrations"): self = .registration(path[1])
        default: throw .notFound
        }
    }
}
