internal import Foundation
internal import GatewaySupport
internal import NIOCore

/// Checks of the URLs that the provider's keys are read from. Whoever answers there decides who may log in.
enum ProviderURL {
    /// Returns what is wrong with a URL of the configuration, or nil.
    static func fault(in text: String) -> String? { fault(in: text, allowsPlaintext: true) }

    /// Returns what is wrong with a URL, or nil.
    ///
    /// - Parameter allowsPlaintext: Whether `http` to this machine is permitted. A provider elsewhere may not name such
    ///   a URL, because a request to it would reach a service of this machine.
    static func fault(in text: String, allowsPlaintext: Bool) -> String? {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let scheme = url.scheme?.lowercased()
        else { return "is not a URL" }
        guard url.user == nil, url.password == nil else { return "must not contain a user or password" }
        guard url.fragment == nil else { return "must not have a fragment" }
        guard let host = url.host, !host.isEmpty else { return "has no host" }
        if let port = url.port, !(1...65_535).contains(port) { return "has an invalid port" }
        switch scheme {
        case "https": return nil
        case "http" where allowsPlaintext && isLoopback(host): return nil
        default: return "must begin with https://; http:// is possible only to a loopback address of this machine"
        }
    }

    /// Returns what is wrong with an issuer whose discovery document is read, or nil.
    static func fault(inIssuer issuer: String) -> String? {
        if let fault = fault(in: issuer) {
            return "\(fault); it is the URL of the discovery document, unless jwks is set"
        }
        // OpenID Connect Discovery 1.0, section 3.
        return URLComponents(string: issuer)?.query == nil ? nil : "must not have a query"
    }

    /// Returns the URL of the issuer's discovery document (OpenID Connect Discovery 1.0, section 4).
    static func discovery(of issuer: String) -> String {
        (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
    }

    /// Whether the URL is not encrypted.
    static func isPlaintext(_ text: String) -> Bool { text.lowercased().hasPrefix("http:") }

    /// Whether a connection to the host stays on this machine.
    private static func isLoopback(_ host: String) -> Bool {
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
