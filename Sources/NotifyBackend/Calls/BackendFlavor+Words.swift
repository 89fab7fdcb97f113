/// The words of a flavour (contract: backend profiles).
extension BackendFlavor {
    /// Whether the registration id may be in the path.
    var takesIDInPath: Bool { self != .core }

    /// Whether the registration id may be in the query.
    var takesIDInQuery: Bool { self != .net6 }

    /// Returns the hub's word for a `Platform` value; nil if the flavour does not know it.
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

    /// Returns the lower-case service of a `pns` value; nil if the flavour does not know it.
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
