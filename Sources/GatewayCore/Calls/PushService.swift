internal import GatewaySupport

/// A push notification service, independent of the name that a client or a backend uses for it.
///
/// `gcm`, `fcm` and `fcmv1` name one service, and therefore share one key of limits and of handle bindings.
public enum PushService: String, Sendable, Hashable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Windows Push Notification Services.
    case wns
    /// Microsoft Push Notification Service (Windows Phone). Devices can register; no backend sends to it.
    case mpns
    /// Firebase Cloud Messaging, formerly Google Cloud Messaging.
    case fcm

    /// The index of the service in tables with one element for each service.
    package var index: Int {
        switch self {
        case .apns: 0
        case .wns: 1
        case .mpns: 2
        case .fcm: 3
        }
    }

    /// The largest payload that the service accepts, in bytes (docs/contract.md: payload limits).
    public var payloadLimit: Int {
        switch self {
        case .apns, .fcm: 4096
        case .wns, .mpns: 5120
        }
    }
}

/// The name of a push service on the wire: `Platform` in a registration, `pns` in a send.
///
/// Matched without case. The backend profile decides which names the backend accepts.
public enum Platform: String, Sendable, Hashable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Windows Push Notification Services.
    case wns
    /// Microsoft Push Notification Service (Windows Phone).
    case mpns
    /// Google Cloud Messaging.
    case gcm
    /// Firebase Cloud Messaging, legacy interface.
    case fcm
    /// Firebase Cloud Messaging, HTTP v1 interface.
    case fcmv1

    /// Creates a platform from its name in any case; nil for an unknown name.
    public init?(word: String) {
        self.init(rawValue: word.asciiLowercased)
    }

    /// The push service that the name refers to.
    public var service: PushService {
        switch self {
        case .apns: .apns
        case .wns: .wns
        case .mpns: .mpns
        case .gcm, .fcm, .fcmv1: .fcm
        }
    }
}
