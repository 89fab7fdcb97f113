public import Gateway
public import GatewayCore
public import GatewaySupport

/// A plug-in with its settings from the configuration, ready for validation and creation.
public struct ConfiguredPlugin: Sendable {
    /// The name of the plug-in in the configuration.
    public let name: PluginName
    /// The kinds of credential that the plug-in verifies with these settings.
    public let credentialKinds: Set<CredentialKind>
    /// Whether and how the plug-in reports the status of an account after a login.
    public let accountStatusSupport: AccountStatusSupport
    /// The location of the plug-in's settings in the configuration.
    public let location: SourceLocation
    /// The path of the plug-in's settings from the configuration's root.
    public let path: String
    /// The users and groups that the plug-in may authenticate.
    public let scope: AuthenticatorScope
    /// Whether a verification result may depend on the peer's address.
    public let outcomeDependsOnPeer: Bool
    /// Whether two authenticators of the plug-in must not have users in common by default.
    public let requiresDistinctUsers: Bool
    /// Whether the authenticator offers logins through a browser.
    public let offersBrowserLogins: Bool
    /// The fingerprint of the settings, including the bounds. Equal settings have equal fingerprints.
    public let settings: ConfigurationFingerprint
    /// The files that the settings name.
    public let files: [String]
    /// Returns the problems of settings that were decoded without errors.
    public let problems: @Sendable (PluginContext) async -> [ConfigurationProblem]
    /// Returns all users that the authenticator has; nil if they are not known in advance.
    public let listedUsers: @Sendable (PluginContext) async -> Set<UserName>?
    /// Creates the authenticator.
    public let make: @Sendable (PluginContext) async throws -> any Authenticator
}

/// The available plug-ins by name. Only the executable creates a catalog; no other module knows a plug-in.
public struct PluginCatalog: Sendable {
    private let plugins: [any AuthenticatorPlugin.Type]

    /// Creates a catalog of the plug-ins.
    public init(_ plugins: [any AuthenticatorPlugin.Type]) { self.plugins = plugins }

    /// The names of the plug-ins, sorted.
    public var names: [String] { plugins.map { $0.name.text }.sorted() }

    /// Returns the plug-in of the name with settings from the reader; nil if there is no such plug-in or the settings
    /// are invalid.
    func configured(
        _ name: String, _ reader: ConfigurationReader, within scope: AuthenticatorScope
    ) -> ConfiguredPlugin? {
        plugins.first { $0.name.text == name }.flatMap { Self.configured($0, reader, scope) }
    }

    /// Returns whether there is a plug-in of the name.
    func contains(_ name: String) -> Bool { plugins.contains { $0.name.text == name } }

    private static func configured<Plugin: AuthenticatorPlugin>(
        _ plugin: Plugin.Type, _ reader: ConfigurationReader, _ scope: AuthenticatorScope
    ) -> ConfiguredPlugin? {
        guard let settings = plugin.readSettings(reader) else { return nil }
        return ConfiguredPlugin(
            name: plugin.name, credentialKinds: plugin.credentialKinds(settings),
            accountStatusSupport: plugin.accountStatusSupport(settings), location: reader.location, path: reader.path,
            scope: scope, outcomeDependsOnPeer: plugin.outcomeDependsOnPeer,
            requiresDistinctUsers: plugin.requiresDistinctUsers,
            offersBrowserLogins: plugin.offersBrowserLogins(settings), settings: reader.fingerprint,
            files: reader.namedFiles,
            problems: { await plugin.problems(in: settings, context: $0) },
            listedUsers: { await plugin.listedUsers(in: settings, context: $0) },
            make: { try await plugin.makeAuthenticator(settings, context: $0) })
    }
}
