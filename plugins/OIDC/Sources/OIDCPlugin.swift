public import GatewayCore
public import GatewaySupport

/// The `oidc` authenticator: tokens of an OpenID provider, verified here with the provider's public keys.
public enum OIDCPlugin: AuthenticatorPlugin {
    /// `oidc`
    public static let name: PluginName = "oidc"
    /// Bearer tokens.
    public static let credentialKinds: Set<CredentialKind> = [.bearer]
    /// The result depends on the token, the keys and the clock alone.
    public static let outcomeDependsOnPeer = false
    /// The users of two issuers are different people.
    public static let requiresDistinctUsers = true

    /// The maximum accepted lifetime of a token.
    public static let maximumLifetime: Duration = .seconds(7 * 86_400)

    /// The settings under `oidc:` in the configuration.
    public struct Settings: Sendable {
        /// `issuer`: the exact `iss` of the tokens. Required. The URL of the provider, unless `jwks` is set.
        public var issuer: String
        /// `audience`: the text that `aud` must equal or contain. Required.
        public var audience: String
        /// `jwks`: where the provider's keys are. Default: where the provider's discovery document says.
        public var keys: KeyLocation
        /// `algorithms`: the accepted signature algorithms. Default `[RS256]`.
        public var algorithms: Set<SignatureAlgorithm>
        /// `clients`: the values of which `azp`, or `client_id`, must be one. Default: no restriction.
        public var clients: Set<String>
        /// `scopes`: the words that `scope` must contain. Default: none.
        public var scopes: Set<String>
        /// `user-claim`: the claim with the user's name. Default `sub`.
        public var userClaim: String
        /// `groups-claim`: the claim with the groups, a list or words with spaces between them. Default `groups`.
        public var groupsClaim: String
        /// `leeway`: the accepted difference between the provider's clock and this one. 0 s to 60 s, default 60 s.
        public var leeway: Duration
        /// `ca`: a PEM file with the authorities of the provider's TLS certificate. Default: those of the system.
        public var authorities: String?
        /// `logout-audience`: the client id that the `aud` of the provider's logout tokens contains. Default: the provider
        /// cannot announce logouts.
        public var logoutAudience: String?
        /// `login`: the client by which users log in to the console. Default: nobody can.
        public var login: LoginSettings?
        /// The location of the settings, for problems of the files.
        public var location: SourceLocation

        /// Creates settings with the configuration's defaults.
        public init(
            issuer: String, audience: String, keys: KeyLocation? = nil,
            location: SourceLocation = SourceLocation(file: "")
        ) {
            self.issuer = issuer
            self.audience = audience
            self.keys = keys ?? .discovery
            algorithms = [.rs256]
            clients = []
            scopes = []
            userClaim = "sub"
            groupsClaim = "groups"
            leeway = .seconds(60)
            self.location = location
        }
    }

    /// The place of the provider's keys.
    public enum KeyLocation: Sendable, Hashable {
        /// The discovery document of the issuer (OpenID Connect Discovery 1.0, section 4) names the URL.
        case discovery
        /// A URL of a key set.
        case url(String)
        /// A file with a key set.
        case file(String)
    }

    /// Reads the settings. The caller reports unknown keys: it calls `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let issuer = reader.required("issuer")
        let audience = reader.required("audience")
        var location: KeyLocation? = .discovery
        if let text = reader.string("jwks") { location = keyLocation(text, reader) }
        if location == .discovery, let issuer, let fault = ProviderURL.fault(inIssuer: issuer) {
            reader.report("issuer", fault)
            location = nil
        }
        let algorithms = words("algorithms", reader)?.compactMap { word in
            let algorithm = SignatureAlgorithm(rawValue: word)
            if algorithm == nil {
                let allowed = SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")
                reader.report("algorithms", "\"\(word)\" is not one of: \(allowed)")
            }
            return algorithm
        }
        let clients = words("clients", reader)
        let scopes = words("scopes", reader)
        let userClaim = text("user-claim", reader)
        let groupsClaim = text("groups-claim", reader)
        let leeway = reader.duration("leeway", in: .zero ... .seconds(60))
        let authorities = reader.path("ca")
        let logoutAudience = text("logout-audience", reader)
        let login = readLogin(reader, issuer: issuer, keys: location)
        if case .file = location, authorities != nil { reader.report("ca", "has no effect: jwks is a file") }
        guard let issuer, let audience, let location else { return nil }
        var settings = Settings(issuer: issuer, audience: audience, keys: location, location: reader.location)
        if let algorithms { settings.algorithms = Set(algorithms) }
        if let clients { settings.clients = Set(clients) }
        if let scopes { settings.scopes = Set(scopes) }
        if let userClaim { settings.userClaim = userClaim }
        if let groupsClaim { settings.groupsClaim = groupsClaim }
        if let leeway { settings.leeway = leeway }
        settings.authorities = authorities
        settings.logoutAudience = logoutAudience
        settings.login = login
        return settings
    }

    /// Returns the problems of the files that the settings name. The provider is not contacted.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        var problems: [ConfigurationProblem] = []
        if case .file(let file) = settings.keys {
            do { _ = try await KeySetFile.load(file, context: context) } catch { problems += error.problems }
        }
        if let authorities = settings.authorities {
            do { _ = try await TrustedAuthorities.read(authorities, context: context) } catch {
                problems += error.problems
            }
        }
        if let file = settings.login?.secretFile {
            do { _ = try await ClientSecretFile.read(file, context: context) } catch { problems += error.problems }
        }
        return problems
    }

    /// Makes the authenticator. Waits for the first reading of the provider's keys, at most two seconds; if it fails,
    /// tokens of the issuer cannot be verified until a later one succeeds.
    ///
    /// - Throws: `ConfigurationError` if a file became invalid after `problems` read it.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        if case .file(let file) = settings.keys {
            return OIDCFileAuthenticator(
                try await KeySetFile.load(file, context: context), file: file, settings: settings, context: context)
        }
        var authorities: TrustedAuthorities?
        if let file = settings.authorities {
            authorities = try await TrustedAuthorities.read(file, context: context)
        }
        let keys = ProviderKeys(
            KeyClient(settings, authorities), ClaimRules(settings: settings, names: context.names), context)
        await keys.refresh()
        keys.startTimer()
        let codeFlow = settings.login.map { CodeFlow($0, issuer: settings.issuer, authorities, context) }
        return OIDCAuthenticator(keys, codeFlow: codeFlow, context: context)
    }

    private static func keyLocation(_ text: String, _ reader: ConfigurationReader) -> KeyLocation? {
        guard text.contains("://") else {
            if text.isEmpty { reader.report("jwks", "must not be empty") }
            return text.isEmpty ? nil : .file(reader.absolute(text))
        }
        let fault = ProviderURL.fault(in: text)
        if let fault { reader.report("jwks", fault) }
        return fault == nil ? .url(text) : nil
    }

    private static func text(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let text = reader.string(name) else { return nil }
        if text.isEmpty { reader.report(name, "must not be empty") }
        return text.isEmpty ? nil : text
    }

    /// Returns a list that is not empty, of texts that are not empty.
    private static func words(_ name: String, _ reader: ConfigurationReader) -> [String]? {
        guard let words = reader.strings(name) else { return nil }
        if words.isEmpty || words.contains("") { reader.report(name, "must not be empty; remove it for its default") }
        return words
    }
}
