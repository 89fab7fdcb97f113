internal import GatewayCore
internal import GatewaySupport

extension OIDCPlugin {
    /// The settings under `login:`: those of the client by which users log in to the console.
    public struct LoginSettings: Sendable, Hashable {
        /// `client`: the id of the client at the provider, which is the audience of its ID tokens. Required.
        public var client: String
        /// `secret`: a file with the secret of the client. Default: a public client, which PKCE alone protects.
        public var secretFile: String?
        /// `scopes`: the requested scopes. Default `[openid, profile]`.
        public var scopes: [String]

        /// Creates settings with the configuration's defaults.
        public init(client: String, secretFile: String? = nil, scopes: [String] = ["openid", "profile"]) {
            self.client = client
            self.secretFile = secretFile
            self.scopes = scopes
        }
    }

    /// Whether users can log in to the console at the provider.
    public static func offersBrowserLogins(_ settings: Settings) -> Bool { settings.login != nil }

    /// Reads `login`; nil if it is absent or invalid.
    static func readLogin(
        _ parent: ConfigurationReader, issuer: String?, keys: KeyLocation?
    ) -> LoginSettings? {
        guard let reader = parent.mapping("login") else { return nil }
        defer { reader.finish() }
        let client = reader.required("client")
        let secret = reader.path("secret")
        let scopes = reader.strings("scopes")
        if let scopes, !scopes.contains("openid") || !scopes.allSatisfy(isScope) {
            reader.report("scopes", "must be a list of words with \"openid\", such as [openid, profile, groups]")
        }
        switch keys {
        case .file:
            parent.report(
                "login", "needs a provider that can be reached, so jwks must be its URL, or be removed")
        case .url:
            // The addresses of the login are in the discovery document of the issuer.
            if let issuer, let fault = ProviderURL.fault(in: issuer) {
                parent.report("login", "reads the discovery document of the issuer, whose URL \(fault)")
            }
        case .discovery, nil: break
        }
        guard let client else { return nil }
        var settings = LoginSettings(client: client, secretFile: secret)
        if let scopes { settings.scopes = scopes }
        return settings
    }

    /// Returns whether the text is a `scope-token` (RFC 6749, section 3.3).
    private static func isScope(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }
}
