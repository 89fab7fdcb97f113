public import GatewayCore
public import GatewaySupport

/// The `hmac-token` authenticator: JSON Web Tokens (RFC 7519) signed with HMAC-SHA-2, by keys that a `kid` selects.
public enum HMACTokenPlugin: AuthenticatorPlugin {
    /// `hmac-token`
    public static let name: PluginName = "hmac-token"
    /// Bearer tokens.
    public static let credentialKinds: Set<CredentialKind> = [.bearer]
    /// A token is issued for an account of another authenticator, so this plug-in has no accounts of its own.
    public static let accountStatusSupport = AccountStatusSupport.ofOthers
    /// The result depends on the token, the keys and the clock alone.
    public static let outcomeDependsOnPeer = false

    /// The maximum accepted lifetime of a token, from any issuer.
    public static let maximumLifetime: Duration = .seconds(7 * 86_400)
    /// The accepted difference between the issuer's clock and this one.
    public static let skew: Duration = .seconds(60)

    /// The settings under `hmac-token:` in the configuration.
    public struct Settings: Sendable {
        /// `keys`: the path of the key file. Required; relative to the configuration's directory. The file holds
        /// secrets, so its mode is checked.
        public var keys: String
        /// `issuer`: the required `iss`, also set in tokens issued here. Text, default `notify-gateway`.
        public var issuer: String
        /// `audience`: the value that `aud` must equal or contain, also set in tokens issued here. Text, default
        /// `notify`.
        public var audience: String
        /// `lifetime`: the lifetime of tokens issued here. 1 s to 7 d, default 1 h.
        public var lifetime: Duration

        /// `session`: the lifetime of a session, counted from the login with a password. The password is required
        /// again after it. 1 min to 365 d, default 30 d.
        public var session: Duration

        /// Creates settings with the configuration's defaults.
        public init(
            keys: String, issuer: String = "notify-gateway", audience: String = "notify",
            lifetime: Duration = .seconds(3600), session: Duration = .seconds(30 * 86_400)
        ) {
            self.keys = keys
            self.issuer = issuer
            self.audience = audience
            self.lifetime = lifetime
            self.session = session
        }
    }

    /// Reads `keys`, `issuer`, `audience`, `lifetime` and `session`. The caller reports unknown keys: it calls
    /// `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let keys = reader.required("keys").map(reader.absolute)
        let issuer = text("issuer", in: reader)
        let audience = text("audience", in: reader)
        let lifetime = reader.duration("lifetime", in: .seconds(1)...maximumLifetime)
        let session = reader.duration("session", in: .seconds(60) ... .seconds(365 * 86_400))
        guard var settings = keys.map({ Settings(keys: $0) }) else { return nil }
        if let issuer { settings.issuer = issuer }
        if let audience { settings.audience = audience }
        if let lifetime { settings.lifetime = lifetime }
        if let session { settings.session = session }
        return settings
    }

    /// Returns every problem of the key file, with a warning if no key is valid now. Reads the file on the file pool.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        do {
            let ring = try await KeyRing.load(settings.keys, context: context)
            let now = context.clocks.wall()
            guard ring.keys.allSatisfy({ !$0.isValid(at: now) }) else { return [] }
            return [
                ConfigurationProblem(
                    at: SourceLocation(file: settings.keys), path: "keys", "contains no key that is valid now",
                    severity: .warning)
            ]
        } catch {
            return error.problems
        }
    }

    /// Reads the key file again and makes the authenticator.
    ///
    /// - Throws: `ConfigurationError` if the file became invalid after `problems` read it.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        HMACTokenAuthenticator(
            try await KeyRing.load(settings.keys, context: context), settings: settings, context: context)
    }

    private static func text(_ name: String, in reader: ConfigurationReader) -> String? {
        guard let text = reader.string(name) else { return nil }
        if text.isEmpty { reader.report(name, "must not be empty") }
        return text.isEmpty ? nil : text
    }
}
