internal import Foundation

/// The URL of a service that the gateway calls, from a configuration or another document.
///
/// It has no user, no password and no fragment: a client would send the first two along without being told to.
public struct RemoteURL: Sendable, Hashable {
    /// The scheme in lower case.
    public let scheme: String
    /// The host as written; an IPv6 address is in brackets.
    public let host: String
    /// Whether the URL has a query.
    public let hasQuery: Bool

    /// The reason why a text is not such a URL.
    public struct Fault: Error, Sendable, Hashable, CustomStringConvertible {
        /// The end of a sentence that begins with the name of the setting.
        public let description: String
    }

    /// Parses a URL of at most 2,048 visible ASCII characters.
    public init(_ text: String) throws(Fault) {
        guard (1...2048).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let url = URLComponents(string: text), let scheme = url.scheme?.lowercased()
        else { throw Fault(description: "is not a URL") }
        guard url.user == nil, url.password == nil else {
            throw Fault(description: "must not contain a user or password")
        }
        guard url.fragment == nil else { throw Fault(description: "must not have a fragment") }
        guard let host = url.host, !host.isEmpty else { throw Fault(description: "has no host") }
        if let port = url.port, !(1...65_535).contains(port) { throw Fault(description: "has an invalid port") }
        self.scheme = scheme
        self.host = host
        hasQuery = url.query != nil
    }

    /// Whether connections to the host stay on this machine.
    public var isLoopback: Bool { LoopbackHost.matches(host) }
}
