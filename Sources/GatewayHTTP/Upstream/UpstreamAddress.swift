internal import GatewaySupport

/// The address of the backend: `http://host[:port]`, `https://host[:port]` or `unix:/path`.
public enum UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name, or an IP address without brackets, and a port.
    case tcp(host: String, port: Int)
    /// A host and a port that are reached through TLS.
    case tls(host: String, port: Int)
    /// The path of a Unix domain socket.
    case unix(path: String)

    /// Parses one of the three forms; nil for any other text. The only allowed URL path is `/`, because the profile
    /// defines the paths of requests.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            // `sun_path` holds 107 bytes and the terminating NUL.
            guard path.hasPrefix("/"), path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        let isSecure = text.lowercased().hasPrefix("https://")
        guard isSecure || text.lowercased().hasPrefix("http://") else { return nil }
        var rest = text.dropFirst(isSecure ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var host: Substring
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            host = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
            guard host.utf8.allSatisfy(Self.isIPv6Byte) else { return nil }
        } else {
            host = rest.prefix { $0 != ":" }
            rest = rest.dropFirst(host.count)
            guard host.utf8.allSatisfy(Self.isNameByte) else { return nil }
        }
        guard !host.isEmpty else { return nil }
        var port = isSecure ? Self.securePort : Self.plainPort
        if !rest.isEmpty {
            guard rest.removeFirst() == ":", (1...5).contains(rest.utf8.count), rest.utf8.allSatisfy(Self.isDigit),
                let number = Int(rest), (1...65_535).contains(number)
            else { return nil }
            port = number
        }
        self = isSecure ? .tls(host: String(host), port: port) : .tcp(host: String(host), port: port)
    }

    /// The value of the `Host` field (RFC 9112, section 3.2), without the port if it is the default of the scheme.
    public var hostField: String {
        switch self {
        case .tcp(let host, let port): Self.authority(host, port == Self.plainPort ? nil : port)
        case .tls(let host, let port): Self.authority(host, port == Self.securePort ? nil : port)
        case .unix: "localhost"
        }
    }

    /// Whether the connection uses TLS.
    public var isSecure: Bool {
        switch self {
        case .tls: true
        case .tcp, .unix: false
        }
    }

    /// The address in the form that `init(_:)` parses.
    public var description: String {
        switch self {
        case .tcp(let host, let port): "http://\(Self.authority(host, port))"
        case .tls(let host, let port): "https://\(Self.authority(host, port))"
        case .unix(let path): "unix:\(path)"
        }
    }

    // RFC 9110, sections 4.2.1 and 4.2.2.
    private static let plainPort = 80
    private static let securePort = 443

    private static func authority(_ host: String, _ port: Int?) -> String {
        (host.contains(":") ? "[\(host)]" : host) + (port.map { ":\($0)" } ?? "")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    private static func isIPv6Byte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == .colon || byte == UInt8(ascii: ".")
    }
}
