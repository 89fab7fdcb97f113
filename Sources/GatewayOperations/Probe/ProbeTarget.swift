internal import Gateway
internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

/// The backend that a probe tests, and the protocol to use with it.
struct ProbeTarget: Sendable {
    /// The address of the backend.
    var address: UpstreamAddress
    /// The verification of its certificate; nil without TLS.
    var tls: ClientTLS?
    /// The value of the `Host` field.
    var host: String
    /// The paths and identifiers of the backend.
    var profile: BackendProfile.BackendSide
    /// The credential that identifies the user to the backend.
    var credential: UpstreamCredential
    /// Two users. On a backend in use, no real user has these names.
    var users: (own: String, other: String)
    /// Returns the payloads that a device has received; nil if they are not visible.
    var inbox: (@Sendable (String) async -> [String])?

    /// Returns the header lines that identify the user, as the gateway sends them.
    func authorization(of user: String) -> [String] {
        switch credential {
        case .mirror: [Self.basic("\(user):\(user)")]
        case .sharedPassword(let password):
            [
                password.withUnsafeBytes {
                    "Authorization: Basic "
                        + String(decoding: Base64.encode(Array("\(user):".utf8) + Array($0), .standard), as: UTF8.self)
                }
            ]
        case .header(let userField, let secretField, let secret):
            [
                "\(userField): \(user)",
                "\(secretField): " + secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) },
            ]
        }
    }

    /// Returns a header line of Basic credentials with any text.
    static func basic(_ text: String) -> String {
        "Authorization: Basic " + String(decoding: Base64.encode(Array(text.utf8), .standard), as: UTF8.self)
    }
}
