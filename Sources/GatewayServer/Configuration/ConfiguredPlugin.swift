public import Gateway
public import GatewayCore

/// A plug-in with the settings that the configuration gives it, ready to be validated and made.
public struct ConfiguredPlugin: Sendable {
    /// The word in the configuration.
    public let name: PluginName
    /// The kinds of credential that it takes with these settings.
    public let takes: Set<CredentialKind>
    /// What it can say of an account after a login.
    public let accountKnowledge: AccountStatusSupport
    /// For whom it may vouch.
    public let bounds: AuthenticatorScope
    /// Whether its answer may depend on the peer's address.
    public let outcomeDependsOnPeer: Bool
    /// What it is configured with, its bounds included: the same for the same.
    public let settings: ConfigurationFingerprint
    /// Everything wrong with settings that read well.
    public let problems: @Sendable (PluginContext) async -> [ConfigurationProblem]
    /// Makes the authenticator.
    public let make: @Sendable (PluginContext) async throws -> any Authenticator
}

/// The plug-ins that there are, by name. The program fills it; nothing else knows any plug-in.
public struct PluginCatalog: Sendable {
    private let plugins: [any AuthenticatorPlugin.Type]

    /// A catalogue of these.
    public init(_ plugins: [any AuthenticatorPlugin.Type]) { self.plugins = plugins }

    /// The names, sorted.
    public var names: [String] { plugins.map { $0.name.text }.sorted() }

    /// The plug-in of the name with settings from the reader; nil where there is no such plug-in, or no usable settings.
    func configured(
        _ name: String, _ reader: ConfigurationReader, within bounds: AuthenticatorScope
    ) -> ConfiguredPlugin? {
        plugins.first { $0.name.text == name }.flatMap { Self.configured($0, reader, bounds) }
    }

    /// Whether there is a plug-in of the name.
    func has(_ name: String) -> Bool { plugins.contains { $0.name.text == name } }

    private static func configured<Plugin: AuthenticatorPlugin>(
        _ plugin: Plugin.Type, _ reader: ConfigurationReader, _ bounds: AuthenticatorScope
    ) -> ConfiguredPlugin? {
        guard let settings = plugin.readSettings(reader) else { return nil }
        return ConfiguredPlugin(
            name: plugin.name, takes: plugin.takes(settings), accountKnowledge: plugin.accountKnowledge, bounds: bounds,
            outcomeDependsOnPeer: plugin.outcomeDependsOnPeer, settings: reader.fingerprint,
            problems: { await plugin.problems(in: settings, context: $0) },
            make: { try await plugin.makeAuthenticator(settings, context: $0) })
    }
}
