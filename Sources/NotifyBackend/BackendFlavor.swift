/// The generation of notify-users backend that the embedded backend imitates.
///
/// All generations have the same four calls. They differ in statuses, names, bodies and the place of the registration
/// id (contract: backend profiles). The raw value is the name on the command line and in the configuration.
public enum BackendFlavor: String, CaseIterable, Sendable {
    /// The tutorial's ASP.NET Web API 2 backend: quoted ids, lenient bodies, 500 in place of 401.
    case classic
    /// Microsoft's ASP.NET Core sample: unquoted ids, ids in the query only, strict bodies.
    case core
    /// A common port to .NET 6: unquoted ids in the path, `fcmv1`, success responses to hub failures.
    case net6
}

/// The names that a flavour uses (contract: backend profiles).
extension BackendFlavor {
    /// Whether the registration id may stand in the path.
    var takesIDInPath: Bool { self != .core }

    /// Whether the registration id may stand in the query.
    var takesIDInQuery: Bool { self != .net6 }

    /// Returns the hub's name of the platform in a `Platform` value; nil if the flavour does not know it.
    func platform(_ value: String) -> String? {
        let known: [String]
        switch self {
        case .classic: known = ["mpns", "wns", "apns", "gcm"]
        case .core: known = ["mpns", "wns", "apns", "fcm"]
        case .net6: known = ["wns", "apns", "fcmv1"]
        }
        let word = self == .net6 ? value.lowercased() : value
        return known.contains(word) ? word : nil
    }

    /// Returns the lower-case name of the service in a `pns` value; nil if the flavour does not know it.
    func pns(_ value: String) -> String? {
        let known: [String]
        switch self {
        case .classic: known = ["wns", "apns", "gcm"]
        case .core: known = ["wns", "apns", "fcm"]
        case .net6: known = ["wns", "apns", "fcmv1"]
        }
        let word = value.lowercased()
        return known.contains(word) ? word : nil
    }
}

/// The payloads of the tutorial (contract: payloads). User and message are inserted without escaping, so that quotes or
/// angle brackets in a message inject JSON members or XML elements.
enum PayloadTemplate {
    /// Returns the payload for a lower-case `pns` name; nil for a name without a payload.
    static func payload(pns: String, user: String, message: String) -> String? {
        let text = "From " + user + ": " + message
        switch pns {
        case "apns":
            return "{\"aps\":{\"alert\":\"" + text + "\"}}"
        case "gcm", "fcm":
            return "{ \"data\" : {\"message\":\"" + text + "\"}}"
        case "fcmv1":
            return "{ \"message\":{\"data\" : {\"message\":\"" + text + "\"}}}"
        case "wns":
            return "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">" + text
                + "</text></binding></visual></toast>"
        default:
            return nil
        }
    }
}
