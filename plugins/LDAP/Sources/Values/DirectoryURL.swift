internal import Foundation
internal import GatewaySupport

/// The URL of a directory server: `ldaps://HOST[:PORT]`, `ldap://HOST[:PORT]` or `ldapi://PATH` with a
/// percent-encoded path.
struct DirectoryURL: Sendable, Hashable {
    /// Where the server listens.
    enum Endpoint: Sendable, Hashable {
        /// A host, without the brackets of an IPv6 address, and a port.
        case tcp(host: String, port: UInt16)
        /// The path of a Unix socket.
        case unix(String)
    }

    /// The URL without a trailing slash.
    let text: String
    /// Whether TLS begins with the connection.
    let isTLS: Bool
    /// Where the server listens.
    let endpoint: Endpoint

    /// Whether connections stay on this machine.
    var isLocal: Bool {
        switch endpoint {
        case .tcp(let host, _): LoopbackHost.matches(host)
        case .unix: true
        }
    }

    /// Parses a URL; returns nil for other text, or for a URL with more than scheme, host and port.
    init?(_ text: String) {
        let schemes = ["ldaps://", "ldapi://", "ldap://"]
        guard text.utf8.count <= 1024, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let scheme = schemes.first(where: { text.lowercased().hasPrefix($0) })
        else { return nil }
        var rest = text.dropFirst(scheme.count)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        // Neither a DN nor a search, and no second URL.
        guard !rest.isEmpty, rest.allSatisfy({ !"/?#@\\,".contains($0) }) else { return nil }
        if scheme == "ldapi://" {
            guard let path = String(rest).removingPercentEncoding, path.hasPrefix("/"), !path.contains("\0") else {
                return nil
            }
            endpoint = .unix(path)
        } else {
            guard let (host, port) = Self.authority(rest) else { return nil }
            endpoint = .tcp(host: host, port: port ?? (scheme == "ldaps://" ? 636 : 389))
        }
        isTLS = scheme == "ldaps://"
        self.text = scheme + rest
    }

    private static func authority(_ text: Substring) -> (host: String, port: UInt16?)? {
        var (host, rest) = (text, text[text.endIndex...])
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<end]
            rest = text[text.index(after: end)...]
        } else if let colon = text.firstIndex(of: ":") {
            host = text[..<colon]
            rest = text[colon...]
        }
        guard !host.isEmpty, !host.contains("%") else { return nil }
        if rest.isEmpty { return (String(host), nil) }
        guard rest.first == ":", let port = UInt16(rest.dropFirst()), port > 0 else { return nil }
        return (String(host), port)
    }
}
