public import GatewayCore
public import GatewaySupport

/// The `client-certificate` authenticator: the user whom a TLS client certificate names.
///
/// The listener verifies the certificate. This plug-in only reads the names in it.
public enum ClientCertificatePlugin: AuthenticatorPlugin {
    /// `client-certificate`
    public static let name: PluginName = "client-certificate"
    /// Client certificates.
    public static let credentialKinds: Set<CredentialKind> = [.certificate]
    /// A certificate is valid from every address.
    public static let outcomeDependsOnPeer = false

    /// The part of a certificate that names its user.
    public enum NameSource: String, Sendable, Hashable, CaseIterable {
        /// An `rfc822Name` of the subject alternative name.
        case email
        /// A `uniformResourceIdentifier` of the subject alternative name.
        case uri
        /// A `dNSName` of the subject alternative name.
        case dns
        /// The common name of the subject.
        case commonName = "cn"
    }

    /// The part of a certificate that names the groups of its user.
    public enum GroupSource: String, Sendable, Hashable, CaseIterable {
        /// No part: the user is in no group.
        case none
        /// The organizational units of the subject.
        case organizationalUnits = "ou"
    }

    /// The settings under `client-certificate:` in the configuration.
    public struct Settings: Sendable, Hashable {
        /// `user`: the part that names the user: `email`, `uri`, `dns` or `cn`. Required. A certificate must have
        /// exactly one value there; all other parts are ignored.
        public var user: NameSource
        /// `prefix`: the text before the name, compared with case and removed. A value without it is rejected. Text,
        /// default none.
        public var prefix: String
        /// `suffix`: the text after the name, likewise.
        public var suffix: String
        /// `groups-from`: the part that names the groups: `none` or `ou`. Default `none`. A value that is not a group
        /// name is ignored.
        public var groups: GroupSource

        /// Creates settings with the configuration's defaults.
        public init(
            user: NameSource, prefix: String = "", suffix: String = "", groups: GroupSource = .none
        ) {
            self.user = user
            self.prefix = prefix
            self.suffix = suffix
            self.groups = groups
        }
    }

    /// Reads `user`, `prefix`, `suffix` and `groups-from`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let prefix = reader.has("prefix") ? reader.required("prefix") : reader.string("prefix")
        let suffix = reader.has("suffix") ? reader.required("suffix") : reader.string("suffix")
        let groups = reader.word("groups-from", of: GroupSource.self) ?? .none
        guard reader.required("user") != nil, let user = reader.word("user", of: NameSource.self) else { return nil }
        return Settings(user: user, prefix: prefix ?? "", suffix: suffix ?? "", groups: groups)
    }

    /// Finds no problem: the settings name no file and no key.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] { [] }

    /// Makes the authenticator.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        ClientCertificateAuthenticator(settings: settings, names: context.names)
    }
}
