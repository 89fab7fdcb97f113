public import GatewayCore

/// How the backend is told who the user is. The gateway has checked that already; the backend believes whatever it is told.
public enum UpstreamCredential: Sendable {
    /// Basic with the user's name as its own password: what the tutorial's backends take for valid.
    case mirror
    /// Basic with the user's name and one password that backend and gateway share.
    case sharedPassword(Secret)
    /// The user's name in a header of this name, and a secret that backend and gateway share in another.
    case header(userField: String, secretField: String, secret: Secret)
}
