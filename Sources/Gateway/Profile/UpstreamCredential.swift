public import GatewaySupport

/// The credential that identifies the user to the backend. The gateway has authenticated the user, and the backend
/// trusts the gateway.
public enum UpstreamCredential: Sendable {
    /// Basic, with the user name also as the password, which the backends of the tutorial accept.
    case mirror
    /// Basic, with the user name and a password that gateway and backend share.
    case sharedPassword(Secret)
    /// The user name in one header field, and a secret that gateway and backend share in another.
    case header(userField: String, secretField: String, secret: Secret)
}
