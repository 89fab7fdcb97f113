/// Where the backend is: `http://host[:port]` or `unix:/path`.
public enum UpstreamAddress: Sendable, Hashable, CustomStringConvertible {
    /// A host name or an address without brackets, and a port.
    case tcp(host: String, port: Int)
    /// The path of a Unix domain socket.
    case unix(path: String)

    /// The address that the text says, or nil if it is neither form. A path behind the port may be `/` alone: the paths of
    /// the calls are the profile's.
    public init?(_ text: String) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            // `sun_path` takes 107 bytes and the NUL.
            guard path.hasPrefix("/"), path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard text.lowercased().hasPrefix("http://") else { return nil }
        var rest = text.dropFirst(7)
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
        var port = 80
        if !rest.isEmpty {
            guard rest.removeFirst() == ":", (1...5).contains(rest.utf8.count), rest.utf8.allSatisfy(Self.isDigit),
                let number = Int(rest), (1...65_535).contains(number)
            else { return nil }
            port = number
        }
        self = .tcp(host: String(host), port: port)
    }

    /// The address in the form that makes it.
    public var description: String {
        switch self {
        case .tcp(let host, let port): host.contains(":") ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
    }

    private static func isIPv6Byte(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || byte == .colon || byte == UInt8(ascii: ".")
    }
}
