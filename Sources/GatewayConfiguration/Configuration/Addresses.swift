internal import Foundation
public import GatewayHTTP

/// The address of a listener: TCP, or a Unix domain socket.
public enum ListenAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IP address and a port; for port 0 the system assigns one.
    case tcp(host: String, port: Int)
    /// The path of a socket.
    case unix(path: String)

    /// Parses `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`. Returns nil for anything else.
    public init?(_ text: String) {
        if let path = text.droppingPrefix("unix:") {
            // The capacity of `sockaddr_un.sun_path`, which includes the terminating NUL.
            guard path.hasPrefix("/"), path.utf8.count < 108 else { return nil }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        var host = String(text[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = String(host.dropFirst().dropLast())
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        guard Self.isIPAddress(host) else { return nil }
        self = .tcp(host: host, port: port)
    }

    /// Whether only this machine can reach the address.
    public var isLocal: Bool {
        switch self {
        case .unix: true
        case .tcp(let host, _): host.hasPrefix("127.") || host == "::1"
        }
    }

    /// Returns whether two sockets cannot listen on both: the same path, or the same port where one address includes
    /// the other.
    func overlaps(_ other: ListenAddress) -> Bool {
        switch (self, other) {
        case (.unix(let path), .unix(let otherPath)): path == otherPath
        case (.tcp(let host, let port), .tcp(let otherHost, let otherPort)):
            port == otherPort && port != 0
                && (Self.includes(host, otherHost) || Self.includes(otherHost, host))
        case (.unix, .tcp), (.tcp, .unix): false
        }
    }

    /// Returns whether a socket on `host` also receives connections to `other`. `::` includes IPv4.
    private static func includes(_ host: String, _ other: String) -> Bool {
        host == other || host == "::" || (host == "0.0.0.0" && !other.contains(":"))
    }

    /// The address as the configuration writes it.
    public var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        }
    }

    private static func isIPAddress(_ text: String) -> Bool {
        var v4 = in_addr()
        var v6 = in6_addr()
        return inet_pton(AF_INET, text, &v4) == 1 || inet_pton(AF_INET6, text, &v6) == 1
    }
}

/// The address of the backend.
public enum BackendAddress: Sendable, Hashable {
    /// A server behind a socket.
    case remote(UpstreamAddress)
    /// The embedded backend in this process.
    case embedded

    /// Parses `http://host:port`, `http://host`, the same with `https`, `unix:/path` or `embedded`. Returns nil for
    /// anything else.
    public init?(_ text: String) {
        if text == "embedded" {
            self = .embedded
        } else if let address = UpstreamAddress(text) {
            self = .remote(address)
        } else {
            return nil
        }
    }

    /// The value of the `Host` field of requests to the backend (RFC 9112, section 3.2).
    public var hostField: String {
        switch self {
        case .remote(let address): address.hostField
        case .embedded: "localhost"
        }
    }

    /// Whether the connection uses TLS.
    var isSecure: Bool {
        switch self {
        case .remote(let address): address.isSecure
        case .embedded: false
        }
    }
}

extension String {
    /// Returns the text after the prefix; nil if the text does not begin with it.
    func droppingPrefix(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}
