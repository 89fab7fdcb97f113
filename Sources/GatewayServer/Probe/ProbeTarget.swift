internal import Gateway
internal import GatewayCore
internal import GatewayHTTP

/// What is probed: where it is, and how it is spoken to.
struct ProbeTarget: Sendable {
    /// Where it listens.
    var address: UpstreamAddress
    /// How it is verified, where it is behind TLS.
    var tls: ClientTLS?
    /// What its `Host` field gets.
    var host: String
    /// Its paths and words.
    var profile: BackendProfile.BackendSide
    /// The header lines that say who calls.
    var credential: UpstreamCredential
    /// Two users; of a backend that is in use nobody has these names.
    var users: (own: String, other: String)
    /// What a device received, where that can be seen.
    var inbox: (@Sendable (String) async -> [String])?

    /// The header line that says that the user calls, as the gateway would say it; nil where it is said otherwise.
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

    /// Basic credentials of any text.
    static func basic(_ text: String) -> String {
        "Authorization: Basic " + String(decoding: Base64.encode(Array(text.utf8), .standard), as: UTF8.self)
    }
}
