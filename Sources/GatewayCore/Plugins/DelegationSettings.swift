public import GatewaySupport

/// The settings that authenticators with an external verifier share: the kinds of credential, the timeout and the
/// concurrency.
///
/// Read together with a plug-in's own settings, from the same mapping.
public struct DelegationSettings: Sendable, Hashable {
    /// The kinds of credential that a service or process outside the gateway can verify.
    public static let delegableKinds: Set<CredentialKind> = [.password, .bearer]

    /// `kinds`: the kinds of credential to delegate. A list of `password` and `bearer`, default both.
    public var kinds: Set<CredentialKind>
    /// `timeout`: the maximum duration of a login, including the wait for a connection. 10 ms to 60 s, default 5 s.
    public var timeout: Duration
    /// `connections`: the number of connections, and so of concurrent logins. 1 to 64, default 4.
    public var connections: Int
    /// `queue`: the number of logins that may wait for a connection; further ones get 503. 1 to 4096, default 64.
    public var queue: Int

    /// Creates settings with the defaults of the configuration.
    public init(
        kinds: Set<CredentialKind> = delegableKinds, timeout: Duration = .seconds(5), connections: Int = 4,
        queue: Int = 64
    ) {
        self.kinds = kinds
        self.timeout = timeout
        self.connections = connections
        self.queue = queue
    }

    /// Reads the settings. Problems are reported to the reader; an invalid value is replaced by its default.
    public init(_ reader: ConfigurationReader) {
        self.init()
        if let kinds = Self.kinds(reader) { self.kinds = kinds }
        if let timeout = reader.duration("timeout", in: .milliseconds(10)...Duration.seconds(60)) {
            self.timeout = timeout
        }
        if let connections = reader.integer("connections", in: 1...64) { self.connections = connections }
        if let queue = reader.integer("queue", in: 1...4096) { self.queue = queue }
    }

    private static func kinds(_ reader: ConfigurationReader) -> Set<CredentialKind>? {
        guard let values = reader.sequence("kinds") else { return nil }
        if values.isEmpty { reader.report("kinds", "must not be empty; list at least one kind, or omit it for both") }
        let kinds = values.compactMap { node, path -> CredentialKind? in
            guard let text = reader.string(of: node, under: path) else { return nil }
            let kind = CredentialKind(rawValue: text).flatMap { Self.delegableKinds.contains($0) ? $0 : nil }
            if kind == nil {
                reader.report(at: node.location, under: path, "\"\(text)\" is not one of: password, bearer")
            }
            return kind
        }
        return Set(kinds)
    }
}
