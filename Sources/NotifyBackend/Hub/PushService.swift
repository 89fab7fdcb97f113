/// The push service of a platform or `pns` word. Google's service has three words: a device registered with one of
/// them receives sends with another.
enum PushService: Sendable, Equatable {
    case apple, google, windows, windowsPhone

    /// Returns the service of a lower-case platform or `pns` word; nil for an unknown word.
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
