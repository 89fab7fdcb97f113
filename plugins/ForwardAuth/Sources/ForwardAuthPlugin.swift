public import GatewayCore

/// The `forward-auth` authenticator: a sub-request to an HTTP service that knows the users, as Traefik's ForwardAuth
/// and nginx's `auth_request` make it.
public enum ForwardAuthPlugin: AuthenticatorPlugin {
    /// `forward-auth`
    public static let name: PluginName = "forward-auth"
    /// Both kinds; `kinds` narrows them.
    public static let takes: Set<CredentialKind> = [.password, .bearer]
    /// What `kinds` says.
    public static func takes(_ settings: Settings) -> Set<CredentialKind> { settings.delegation.kinds }

    /// What stands behind `forward-auth:` in the configuration.
    public struct Settings: Sendable {
        /// `url`: what is asked, by GET. `https`, or `http` to this machine, or `http+unix` with the socket's path,
        /// percent-encoded, as the host. Required.
        public var url: String
        /// `user-header`: the field of the answer that names the user. Default `X-Forwarded-User`.
        public var userHeader: String
        /// `groups-header`: the field of the answer that lists groups, with commas. Default `X-Forwarded-Groups`.
        public var groupsHeader: String
        /// What the service is asked about, and with how much patience.
        public var delegation: DelegationSettings

        /// Settings with the defaults of the configuration.
        public init(
            url: String, userHeader: String = "X-Forwarded-User", groupsHeader: String = "X-Forwarded-Groups",
            delegation: DelegationSettings = DelegationSettings()
        ) {
            self.url = url
            self.userHeader = userHeader
            self.groupsHeader = groupsHeader
            self.delegation = delegation
        }
    }

    /// Reads the settings. Unknown names are left to the owner of the reader, who calls `finish()`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        // `allow-plaintext`: whether `http` may go to another machine, where everybody on the way reads the passwords.
        let allowsPlaintext = reader.bool("allow-plaintext") ?? false
        let url = reader.required("url").flatMap { text -> String? in
            let fault = ServiceURL.fault(in: text, allowsPlaintext: allowsPlaintext)
            if let fault { reader.report("url", fault) }
            return fault == nil ? text : nil
        }
        let userHeader = fieldName("user-header", reader)
        let groupsHeader = fieldName("groups-header", reader)
        let delegation = DelegationSettings(reader)
        guard var settings = url.map({ Settings(url: $0, delegation: delegation) }) else { return nil }
        if let userHeader { settings.userHeader = userHeader }
        if let groupsHeader { settings.groupsHeader = groupsHeader }
        guard settings.userHeader.lowercased() != settings.groupsHeader.lowercased() else {
            reader.report("groups-header", "must be another field than user-header")
            return nil
        }
        return settings
    }

    /// Nothing: what could be wrong shows in the settings, and nobody is connected to before there is a login.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] { [] }

    /// Makes the authenticator. It connects when the first login comes.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        ForwardAuthAuthenticator(settings, context: context)
    }

    private static func fieldName(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let text = reader.string(name) else { return nil }
        // `token` of RFC 9110, section 5.6.2, less what nobody puts into a field's name.
        let isName =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
        if !isName { reader.report(name, "is no name of a header field: 1 to 64 of A-Z a-z 0-9 - _") }
        return isName ? text : nil
    }
}
