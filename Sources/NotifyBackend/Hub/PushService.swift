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
