internal import Foundation
public import GatewayCore
public import GatewaySupport
internal import NIOCore

/// The `forward-auth` authenticator: sends a sub-request to an HTTP service, like Traefik's ForwardAuth and nginx's
/// `auth_request`.
public enum ForwardAuthPlugin: AuthenticatorPlugin {
    /// `forward-auth`
    public static let name: PluginName = "forward-auth"
    /// Both kinds. The setting `kinds` narrows them.
    public static let credentialKinds: Set<CredentialKind> = [.password, .bearer]
    /// The configured `kinds`.
    public static func credentialKinds(_ settings: Settings) -> Set<CredentialKind> { settings.delegation.kinds }

    /// The settings under `forward-auth:` in the configuration.
    public struct Settings: Sendable {
        /// `url`: the URL of the GET request. `https`; or `http` to this machine; or `http+unix` with the
        /// percent-encoded path of a socket as its host. Required.
        public var url: String
        /// `user-header`: the response field that names the user. Default `X-Forwarded-User`.
        public var userHeader: String
        /// `groups-header`: the response field with the comma-separated groups. Default `X-Forwarded-Groups`.
        public var groupsHeader: String
        /// The kinds, the timeout and the limits of the queries.
        public var delegation: DelegationSettings

        /// Creates settings with the configuration's defaults.
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
        let delegation = DelegationSettings(reader)
        guard var settings = url.map({ Settings(url: $0, delegation: delegation) }) else { return nil }
        if let userHeader { settings.userHeader = userHeader }
        if let groupsHeader { settings.groupsHeader = groupsHeader }
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
        ForwardAuthAuthenticator(settings, context: context)
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

/// Checks of the service's URL, which receives passwords.
enum ServiceURL {
    /// Returns what is wrong with the URL, or nil.
    static func fault(in text: String, allowsPlaintext: Bool) -> String? {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let scheme = url.scheme?.lowercased()
        else { return "is not a URL" }
        guard url.user == nil, url.password == nil else { return "must not contain a user or password" }
        guard url.fragment == nil else { return "must not have a fragment" }
        guard let host = url.host, !host.isEmpty else { return "has no host" }
        if let port = url.port, !(1...65_535).contains(port) { return "has an invalid port" }
        switch scheme {
        case "https", "http+unix": return nil
        case "http" where allowsPlaintext || isLoopback(host): return nil
        case "http":
            return "sends passwords to another machine in plain text; use https, or set allow-plaintext: true"
        default: return "must begin with https://, http:// or http+unix://"
        }
    }

    /// Whether a connection to the host stays on this machine.
    static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        // Only literal addresses count, because a name could resolve to any address.
        guard let address = try? SocketAddress(ipAddress: bare, port: 0) else { return false }
        switch address {
        case .v4(let address): return UInt32(bigEndian: address.address.sin_addr.s_addr) >> 24 == 127
        case .v6(let address):
            return withUnsafeBytes(of: address.address.sin6_addr) {
                $0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1
            }
        case .unixDomainSocket: return false
        }
    }
}
