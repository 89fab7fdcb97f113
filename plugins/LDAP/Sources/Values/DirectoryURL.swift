internal import Foundation
internal import GatewaySupport

/// The URL of a directory server: `ldaps://HOST[:PORT]`, `ldap://HOST[:PORT]` or `ldapi://PATH` with a
/// percent-encoded path.
struct DirectoryURL: Sendable, Hashable {
    /// The URL without a trailing slash.
    let text: String
    /// Whether TLS begins with the connection.
    let isTLS: Bool
    /// Whether connections stay on this machine.
    let isLocal: Bool

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
            isLocal = true
        } else {
            guard let host = Self.host(rest) else { return nil }
            isLocal = LoopbackHost.matches(host)
        }
        isTLS = scheme == "ldaps://"
        self.text = scheme + rest
    }

    private static func host(_ authority: Substring) -> String? {
        var host = authority
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            host = authority[authority.index(after: authority.startIndex)..<end]
            let port = authority[authority.index(after: end)...]
            guard port.isEmpty || isPort(port) else { return nil }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            guard isPort(authority[colon...]) else { return nil }
        }
        return host.isEmpty || host.contains("%") ? nil : String(host)
    }

    private static func isPort(_ text: Substring) -> Bool {
        guard text.first == ":", let number = UInt16(text.dropFirst()) else { return false }
        return number > 0
    }
}
