internal import GatewaySupport

/// A change to one user.
enum UserChange: String {
    /// Ends a session of the user.
    case endSession = "end-session"
    /// Deletes a device's registration at the backend.
    case revokeDevice = "revoke-device"
    /// Ends all sessions and deletes all registrations of the user.
    case revokeUser = "revoke-user"
    /// Clears the failed logins of the user.
    case liftBans = "lift-bans"
    /// Resets the limits that count the user.
    case resetLimits = "reset-limits"

    /// The operation that makes the change.
    var operation: String {
        switch self {
        case .endSession, .revokeUser: "tokens revoke"
        case .revokeDevice: "registrations revoke"
        case .liftBans: "bans lift"
        case .resetLimits: "limits reset"
        }
    }

    /// Returns the arguments of the operation.
    func arguments(user: String, _ target: String) -> [(String, String?)] {
        switch self {
        case .endSession: [("session", target)]
        case .revokeDevice: [("registration", target)]
        case .revokeUser, .liftBans, .resetLimits: [("user", user)]
        }
    }

    /// Returns the question before the change.
    func question(user: String, _ target: String) -> String {
        switch self {
        case .endSession: "End the session \(target) of \(user)?"
        case .revokeDevice: "Revoke the device registration \(target) of \(user)?"
        case .revokeUser: "End all sessions of \(user) and delete all device registrations?"
        case .liftBans: "Clear the failed logins of \(user)?"
        case .resetLimits: "Reset the limits of \(user)?"
        }
    }

    /// The sentence after the change.
    var done: String {
        switch self {
        case .endSession: "The session has ended."
        case .revokeDevice: "The device is revoked; the backend's registration is deleted, or will be shortly."
        case .revokeUser: "All sessions have ended, and the devices are revoked."
        case .liftBans: "The failed logins are cleared."
        case .resetLimits: "The limits are reset."
        }
    }

    /// Whether users may make the change to themselves.
    var isForOwners: Bool { self == .endSession || self == .revokeDevice || self == .revokeUser }

    /// Throws unless the target of the change is one of a user's objects.
    ///
    /// - Parameter user: The user, as `users show` returns it.
    func requireOwned(_ target: String, in user: JSONValue) throws(ConsoleProblem) {
        let (list, member) =
            switch self {
            case .endSession: ("sessions", "session")
            case .revokeDevice: ("registrations", "registration")
            case .revokeUser, .liftBans, .resetLimits: ("", "")
            }
        guard list.isEmpty || (user[list]?.items ?? []).contains(where: { $0[member]?.string == target }) else {
            throw .noSuchObject
        }
    }
}
