public import Gateway
internal import GatewayCore
internal import GatewaySupport

extension ServerConfiguration {
    /// The operator console.
    public struct ConsoleSection: Sendable, Hashable {
        /// The address of its listener.
        public var address: ListenAddress
        /// The server certificate; nil for a plaintext listener.
        public var tls: TLSFiles?
        /// The origin at which browsers reach it, such as `https://console.example.com`; nil for the listener's own.
        public var origin: ConsoleOrigin?
        /// The users who may read.
        public var viewers: [RuleSubject]
        /// The users who may read and make changes.
        public var operators: [RuleSubject]
        /// Whether every user may see and end their own devices and sessions.
        public var isSelfService: Bool
    }

    /// Reads `console`; nil if there is none.
    static func readConsole(
        _ reader: ConfigurationReader?, _ names: NameRules, beside listeners: [ListenerSection], _ admin: ListenAddress
    ) -> ConsoleSection? {
        guard let reader else { return nil }
        defer { reader.finish() }
        // The certificate for TLS 1.2 and 1.3; default: plaintext, which only this machine may reach.
        let tls = readCertificate(reader)
        let origin = readOrigin(reader)
        if tls != nil, let origin, !origin.isSecure {
            reader.report("origin", "must begin with https://, because the console has tls")
        }
        // The users and groups who may read.
        let viewers = readSubjects(reader, "viewers", names)
        // The users and groups who may read and make changes.
        let operators = readSubjects(reader, "operators", names)
        // Whether every user may see and end their own devices and sessions at /me; default: false.
        let isSelfService = reader.bool("self-service") ?? false
        if !reader.has("viewers"), !reader.has("operators"), !isSelfService {
            reader.report(
                "operators", "is missing; name the users who may use the console, such as [\"group:operators\"]")
        }
        guard let address = readListenAddress(reader) else { return nil }
        if case .unix = address {
            reader.report("address", "must be an IP address and a port, because browsers cannot open a Unix socket")
        }
        if listeners.contains(where: { $0.address.overlaps(address) }) || admin.overlaps(address) {
            reader.report("address", "\(address) is already used by another listener")
        }
        if !address.isLocal, tls == nil {
            reader.report(
                "address", "other machines can reach the console, so it needs tls; passwords are entered there")
        }
        return ConsoleSection(
            address: address, tls: tls, origin: origin, viewers: viewers, operators: operators,
            isSelfService: isSelfService)
    }

    /// Reports an authenticator whose logins through a browser have no console, or are not used, and a console whose name
    /// the identity provider needs.
    static func checkBrowserLogins(
        _ root: ConfigurationReader, _ console: ConsoleSection?, _ authenticators: [ConfiguredPlugin]
    ) {
        let providers = authenticators.filter(\.offersBrowserLogins)
        guard let first = providers.first else { return }
        if !root.has("console") {
            root.report(
                at: first.location, under: "\(first.path).login", "has no effect: no console is configured",
                severity: .warning)
        }
        for other in providers.dropFirst() {
            root.report(
                at: other.location, under: "\(other.path).login",
                "has no effect: users log in to the console at the provider of \(first.path)", severity: .warning)
        }
        if let console, !console.address.isLocal, console.origin == nil, let node = root.node("console") {
            root.report(
                at: node.location, under: "console.origin",
                "is missing; the provider redirects browsers to it after a login, such as https://console.example.com")
        }
    }

    private static func readOrigin(_ reader: ConfigurationReader) -> ConsoleOrigin? {
        guard let text = reader.string("origin") else { return nil }
        guard let origin = ConsoleOrigin(text) else {
            reader.report(
                "origin", "\"\(text)\" is not an origin; use https:// and a name, such as https://console.example.com")
            return nil
        }
        return origin
    }

    private static func readSubjects(
        _ reader: ConfigurationReader, _ key: String, _ names: NameRules
    ) -> [RuleSubject] {
        (reader.strings(key) ?? []).compactMap { text in
            guard text != "*" else {
                reader.report(key, "\"*\" would let every user see who notified whom; name users or groups")
                return nil
            }
            return subject(text, key, reader, names)
        }
    }
}

/// The origin of the console (RFC 6454): scheme, host and port as browsers send them.
public struct ConsoleOrigin: Sendable, Hashable, CustomStringConvertible {
    /// The host, and the port if it is not that of the scheme: the value of `Host`.
    public let authority: String
    /// Whether the scheme is https.
    public let isSecure: Bool

    /// Parses `https://console.example.com`, or `http://` with a loopback host. Returns nil for anything else.
    public init?(_ text: String) {
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://") else { return nil }
        let authority = String(text.dropFirst(isSecure ? 8 : 7))
        guard (1...255).contains(authority.utf8.count),
            authority.utf8.allSatisfy({ byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-.:[]".utf8.contains(byte)
            })
        else { return nil }
        guard let host = Self.host(of: authority), isSecure || LoopbackHost.matches(host) else { return nil }
        self.authority = authority
        self.isSecure = isSecure
    }

    /// Returns the host of an authority (RFC 3986, section 3.2), without its port and without the brackets of an IPv6
    /// address; nil if the authority is malformed.
    public static func host(of authority: String) -> String? {
        let isBracketed = authority.hasPrefix("[")
        let end = isBracketed ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":") ?? authority.endIndex
        guard let end else { return nil }
        let host = isBracketed ? authority[authority.index(after: authority.startIndex)..<end] : authority[..<end]
        let rest = isBracketed ? authority[authority.index(after: end)...] : authority[end...]
        guard !host.isEmpty, isBracketed == host.contains(":"), rest.isEmpty || isPort(rest) else { return nil }
        return String(host)
    }

    /// Returns whether the text is a colon and the digits of a port.
    private static func isPort(_ text: Substring) -> Bool {
        let digits = text.dropFirst()
        return text.first == ":" && digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && (0...65_535).contains(Int(digits) ?? -1)
    }

    /// The origin as browsers send it.
    public var description: String { (isSecure ? "https://" : "http://") + authority }
}
