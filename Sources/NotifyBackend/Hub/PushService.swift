/// The push service behind a platform or `pns` word. Three words name Google's service: a device registered with one of
/// them receives what is sent with another.
enum PushService: Sendable, Equatable {
    case apple, google, windows, windowsPhone

    /// The service of a lower-case platform or `pns` word; nil if no service has that name.
    init?(word: String) {
        switch word {
        case "apns": self = .apple
        case "gcm", "fcm", "fcmv1": self = .google
        case "wns": self = .windows
        case "mpns": self = .windowsPhone
        default: return nil
        }
    }

    /// The largest payload in bytes that the service delivers (contract: payload limits).
    var payloadLimit: Int {
        switch self {
        case .apple, .google: 4096
        case .windows: 5120
        case .windowsPhone: 3072
        }
    }
}
