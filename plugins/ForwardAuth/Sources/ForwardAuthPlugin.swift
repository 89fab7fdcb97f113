public import GatewayCore
public import GatewaySupport

/// The `forward-auth` authenticator: sends a sub-request to an HTTP service, like Traefik's ForwardAuth and nginx's
/// `auth_request`.
public enum ForwardAuthPlugin: AuthenticatorPlugin {
    /// `forward-auth`
    public static let name: PluginName = "forward-auth"
    /// Both kinds. The setting `kinds` narrows them.
    public static let credentialKinds: Set<CredentialKind> = [.password, .bearer]
    /// The configured `kinds`.
    public static func credentialKinds(_ settings: Settings) -> Set<CredentialKind> { settings.delegation.kinds }
    /// `status` if there is a `status-url`.
    public static func accountStatusSupport(_ settings: Settings) -> AccountStatusSupport {
        settings.status == nil ? .loginsOnly : .status
    }

    /// The settings under `forward-auth:` in the configuration.
    public struct Settings: Sendable {
        /// `url`: the URL of the GET request. `https`; or `http` to this machine; or `http+unix` with the
        /// percent-encoded path of a socket as its host. Required.
        public var url: String
        /// `user-header`: the response field that names the user. Default `X-Forwarded-User`.
        public var userHeader: String
        /// `groups-header`: the response field with the comma-separated groups. Default `X-Forwarded-Groups`.
        public var groupsHeader: String
        /// `rejected-statuses`: the statuses that mean a wrong credential, beside 401 and 403: 300 to 499. For a service
        /// that sends a redirect to its login page, 302 or 303. Default: none.
        public var rejectedStatuses: Set<UInt>
        /// The kinds, the timeout and the limits of the queries.
        public var delegation: DelegationSettings
        /// The query of the status of accounts; nil for none.
        public var status: StatusService?

        /// The query of the status of accounts.
        public struct StatusService: Sendable {
            /// `status-url`: the URL of the GET request, to which the parameter `user` is added. The same schemes as
            /// `url`.
            public var url: String
            /// `status-token`: the bearer token by which the service recognises the gateway. Default: none. Secret.
            public var token: Secret?

            /// Creates settings.
            public init(url: String, token: Secret? = nil) {
                self.url = url
                self.token = token
            }
        }

        /// Creates settings with the configuration's defaults.
        public init(
            url: String, userHeader: String = "X-Forwarded-User", groupsHeader: String = "X-Forwarded-Groups",
            rejectedStatuses: Set<UInt> = [], delegation: DelegationSettings = DelegationSettings(),
            status: StatusService? = nil
        ) {
            self.url = url
            self.userHeader = userHeader
            self.groupsHeader = groupsHeader
            self.rejectedStatuses = rejectedStatuses
            self.delegation = delegation
            self.status = status
        }
    }

    /// Reads the settings. The caller reports unknown keys: it calls `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        // `allow-plaintext`: whether `http` may go to another machine, where everybody on the path can read the
        // passwords. Default: false.
        let allowsPlaintext = reader.bool("allow-plaintext") ?? false
        let url = reader.required("url").flatMap { text -> String? in
            let fault = ServiceURL.fault(in: text, allowsPlaintext: allowsPlaintext)
            if let fault { reader.report("url", fault) }
            return fault == nil ? text : nil
        }
        let userHeader = fieldName("user-header", reader)
        let groupsHeader = fieldName("groups-header", reader)
        let rejectedStatuses = statuses(reader)
        let delegation = DelegationSettings(reader)
        let status = statusService(reader, allowsPlaintext: allowsPlaintext)
        guard var settings = url.map({ Settings(url: $0, delegation: delegation, status: status) }) else { return nil }
        if let userHeader { settings.userHeader = userHeader }
        if let groupsHeader { settings.groupsHeader = groupsHeader }
        settings.rejectedStatuses = rejectedStatuses
        guard settings.userHeader.lowercased() != settings.groupsHeader.lowercased() else {
            reader.report("groups-header", "must differ from user-header")
            return nil
        }
        return settings
    }

    /// Returns no problems: all of them show in the settings, and the service is not contacted before the first
    /// login.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] { [] }

    /// Makes the authenticator. The first login opens the first connection.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        if let status = settings.status { return ForwardAuthAccountAuthenticator(settings, status, context: context) }
        return ForwardAuthAuthenticator(settings, context: context)
    }

    private static func statusService(
        _ reader: ConfigurationReader, allowsPlaintext: Bool
    ) -> Settings.StatusService? {
        let url = reader.string("status-url")
        if let url, let fault = ServiceURL.statusFault(in: url, allowsPlaintext: allowsPlaintext) {
            reader.report("status-url", fault)
        }
        let token = reader.string("status-token")
        if let token {
            if !(16...1024).contains(token.utf8.count) || !token.utf8.allSatisfy(AuthorizationField.isTokenByte) {
                reader.report("status-token", "must be 16 to 1024 of A-Z a-z 0-9 - . _ ~ + / =")
            }
            if url == nil { reader.report("status-token", "needs \"status-url\"") }
        }
        return url.map { Settings.StatusService(url: $0, token: token.map { Secret($0.utf8) }) }
    }

    private static func statuses(_ reader: ConfigurationReader) -> Set<UInt> {
        let values = reader.sequence("rejected-statuses") ?? []
        return Set(
            values.compactMap { node, path -> UInt? in
                guard let text = reader.string(of: node, under: path) else { return nil }
                let isNumber = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                let status = isNumber ? UInt(text).flatMap { (300...499).contains($0) ? $0 : nil } : nil
                if status == nil { reader.report(at: node.location, under: path, "must be a status from 300 to 499") }
                return status
            })
    }

    private static func fieldName(_ name: String, _ reader: ConfigurationReader) -> String? {
        guard let text = reader.string(name) else { return nil }
        // `token` of RFC 9110, section 5.6.2, limited to the usual characters of field names.
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
        if !isName { reader.report(name, "is not a header field name: use 1 to 64 of A-Z a-z 0-9 - _") }
        return isName ? text : nil
    }
}
