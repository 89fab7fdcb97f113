/// A push notification service, whatever word a client or a backend has for it.
///
/// `gcm`, `fcm` and `fcmv1` are three words for one service, and so one key of limits and of handle bindings.
public enum PushService: String, Sendable, Hashable, CaseIterable {
    /// Apple Push Notification service.
    case apns
    /// Windows Push Notification Services.
    case wns
    /// Microsoft Push Notification Service (Windows Phone): registrations only, no backend sends to it.
    case mpns
    /// Firebase Cloud Messaging, formerly Google Cloud Messaging.
    case fcm

    /// Its place among all, for tables that have one for each.
    package var place: Int {
        switch self {
        case .apns: 0
        case .wns: 1
        case .mpns: 2
        case .fcm: 3
        }
    }

    /// The largest payload in bytes that the service takes (contract: payload limits).
    public var payloadLimit: Int {
        switch self {
        case .apns, .fcm: 4096
        case .wns, .mpns: 5120
        }
    }
}

/// The word for a push service on the wire: `Platform` in a registration, `pns` in a send.
///
/// Matched without case; which words a backend takes is up to its profile.
public enum Platform: String, Sendable, Hashable, CaseIterable {
    /// Apple.
    case apns
    /// Windows.
    case wns
    /// Windows Phone.
    case mpns
    /// Google, the first generation.
    case gcm
    /// Google, the second generation.
    case fcm
    /// Google, the HTTP v1 interface.
    case fcmv1

    /// The word in any case, or nil if it is none of the six.
    public init?(word: String) {
        self.init(rawValue: word.asciiLowercased)
    }

    /// The service that the word stands for.
    public var service: PushService {
        switch self {
        case .apns: .apns
        case .wns: .wns
        case .mpns: .mpns
        case .gcm, .fcm, .fcmv1: .fcm
        }
    }
}
