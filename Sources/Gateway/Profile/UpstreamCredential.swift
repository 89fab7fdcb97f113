public import GatewayCore

/// The credential by which the backend learns the user. The gateway has authenticated the user; the backend trusts the
/// gateway.
public enum UpstreamCredential: Sendable {
    /// Basic, with the user name also as the password, which the tutorial's backends accept.
    case mirror
    /// Basic, with the user name and a password that gateway and backend share.
    case sharedPassword(Secret)
    /// The user name in one header field, and a secret that gateway and backend share in another.
    case header(userField: String, secretField: String, secret: Secret)
}
