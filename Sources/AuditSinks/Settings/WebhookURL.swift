internal import Foundation
internal import NIOCore

/// The URL of a webhook: https, or http to a loopback address of this machine.
public struct WebhookURL: Sendable, Hashable {
    /// The URL as the configuration writes it.
    public let text: String

    /// The error that a text is not a usable URL.
    public struct Malformed: Error {
        /// The reason, to follow the name of the key.
        public let reason: String
    }

    /// Parses a URL.
    public init(_ text: String) throws(Malformed) {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let scheme = url.scheme?.lowercased()
        else { throw Malformed(reason: "is not a URL") }
        guard url.user == nil, url.password == nil else {
            throw Malformed(reason: "must not contain a user or password; the signature authenticates the gateway")
        }
        guard url.fragment == nil else { throw Malformed(reason: "must not have a fragment") }
        guard let host = url.host, !host.isEmpty else { throw Malformed(reason: "has no host") }
        if let port = url.port, !(1...65_535).contains(port) { throw Malformed(reason: "has an invalid port") }
        switch scheme {
        case "https": break
        case "http" where Self.isLoopback(host): break
        default:
            throw Malformed(
                reason: "must begin with https://; http:// is possible only to a loopback address of this machine")
        }
        self.text = text
    }

    /// Returns whether a connection to the host stays on this machine. Only literal addresses and `localhost` count,
    /// because another name could resolve to any address.
    private static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
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
