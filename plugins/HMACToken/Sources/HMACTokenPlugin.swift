public import GatewayCore

/// The `hmac-token` authenticator: JSON Web Tokens (RFC 7519) signed with HMAC and SHA-2, by keys with ids.
public enum HMACTokenPlugin: AuthenticatorPlugin {
    /// `hmac-token`
    public static let name: PluginName = "hmac-token"
    /// Bearer tokens.
    public static let takes: Set<CredentialKind> = [.bearer]
    /// Tokens speak for the accounts that they were issued to.
    public static let accountKnowledge = AccountKnowledge.ofOthers
    /// The verdict is the token's, the keys' and the clock's alone.
    public static let verdictDependsOnPeer = false

    /// The longest that a token may be good for, whoever issued it.
    public static let longestLifetime: Duration = .seconds(7 * 86_400)
    /// How far two clocks may be apart.
    public static let skew: Duration = .seconds(60)

    /// What stands behind `hmac-token:` in the configuration.
    public struct Settings: Sendable {
        /// `keys`: the key file. Required; relative to the configuration's directory. Holds secrets, so its mode is checked.
        public var keys: String
        /// `issuer`: what `iss` must be, and is in tokens issued here. Text, default `notify-gateway`.
        public var issuer: String
        /// `audience`: what `aud` must be or hold, and is in tokens issued here. Text, default `notify`.
        public var audience: String
        /// `lifetime`: how long tokens issued here are good for. 1 s to 7 d, default 1 h.
        public var lifetime: Duration

        /// `session`: how long after the password a session ends, and the password is needed again. 1 min to 365 d, default
        /// 30 d.
        public var session: Duration

        /// Settings with the defaults of the configuration.
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

    /// Reads `keys`, `issuer`, `audience`, `lifetime` and `session`. Unknown names are left to the owner of the reader, who
    /// calls `finish()`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let keys = reader.required("keys").map(reader.absolute)
        let issuer = text("issuer", in: reader)
        let audience = text("audience", in: reader)
        let lifetime = reader.duration("lifetime", in: .seconds(1)...longestLifetime)
        let session = reader.duration("session", in: .seconds(60) ... .seconds(365 * 86_400))
        guard var settings = keys.map({ Settings(keys: $0) }) else { return nil }
        if let issuer { settings.issuer = issuer }
        if let audience { settings.audience = audience }
        if let lifetime { settings.lifetime = lifetime }
        if let session { settings.session = session }
        return settings
    }

    /// Everything wrong with the key file. Reads it on the blocking pool.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        do {
            let ring = try await KeyRing.load(settings.keys, context: context)
            let now = context.clocks.wall()
            guard ring.keys.allSatisfy({ !$0.isValid(at: now) }) else { return [] }
            return [
                ConfigurationProblem(
                    at: SourceLocation(file: settings.keys), path: "keys", "holds no key that is valid now",
                    severity: .warning)
            ]
        } catch {
            return error.problems
        }
    }

    /// Reads the key file once more and makes the authenticator.
    ///
    /// - Throws: `ConfigurationFault` where the file has changed for the worse since `problems` read it.
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
