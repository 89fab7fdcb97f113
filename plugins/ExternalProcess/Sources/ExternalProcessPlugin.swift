public import GatewayCore

/// The `external-process` authenticator: a process of its own, in any language, asked over a Unix socket.
///
/// The protocol is in this plug-in's README.
public enum ExternalProcessPlugin: AuthenticatorPlugin {
    /// `external-process`
    public static let name: PluginName = "external-process"
    /// Both kinds; `kinds` narrows them, and so does what the process says that it takes.
    public static let takes: Set<CredentialKind> = [.password, .bearer]

    /// What stands behind `external-process:` in the configuration.
    public struct Settings: Sendable {
        /// `socket`: the path at which the process listens. Required; relative to the configuration's directory; at
        /// most 107 bytes.
        public var socket: String
        /// `kinds`: the kinds of credential that the process is asked about. A list of `password` and `bearer`, default
        /// both.
        public var kinds: Set<CredentialKind>
        /// `timeout`: how long a login may take, waiting for a connection included. 10 ms to 60 s, default 5 s.
        public var timeout: Duration
        /// `connections`: how many logins the process is asked about at a time. 1 to 64, default 4.
        public var connections: Int
        /// `queue`: how many logins may wait for a connection; one more is answered 503. 1 to 4096, default 64.
        public var queue: Int
        /// Where the path of the socket stands, for problems that show later.
        public var location: SourceLocation
        /// The path of `socket` from the configuration's root, for the same.
        public var path: String

        /// Settings with the defaults of the configuration.
        public init(
            socket: String, kinds: Set<CredentialKind> = [.password, .bearer], timeout: Duration = .seconds(5),
            connections: Int = 4, queue: Int = 64,
            location: SourceLocation = SourceLocation(file: ""), path: String = "socket"
        ) {
            self.socket = socket
            self.kinds = kinds
            self.timeout = timeout
            self.connections = connections
            self.queue = queue
            self.location = location
            self.path = path
        }
    }

    /// Reads the settings. Unknown names are left to the owner of the reader, who calls `finish()`.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let location = reader.node("socket")?.location ?? reader.location
        let socket = reader.required("socket").map(reader.absolute)
        if let socket, !SocketFile.isAddress(socket) {
            reader.report("socket", "is longer than \(SocketFile.longestPath) bytes, or holds a NUL")
        }
        let kinds = kinds(reader)
        let timeout = reader.duration("timeout", in: .milliseconds(10)...Duration.seconds(60))
        let connections = reader.integer("connections", in: 1...64)
        let queue = reader.integer("queue", in: 1...4096)
        guard let socket, SocketFile.isAddress(socket) else { return nil }
        var settings = Settings(socket: socket, location: location, path: reader.inner("socket"))
        if let kinds { settings.kinds = kinds }
        if let timeout { settings.timeout = timeout }
        if let connections { settings.connections = connections }
        if let queue { settings.queue = queue }
        return settings
    }

    /// Whether the socket is one that a login may be sent to. A socket that is not there yet is a warning: the process
    /// may start after the gateway. Connects to nothing.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        let fault: SocketFile.Fault?
        do { fault = try await context.blockingPool.run { SocketFile.fault(at: settings.socket) } } catch {
            fault = .unreadable("too much work is waiting")
        }
        guard let fault else { return [] }
        return [
            ConfigurationProblem(
                at: settings.location, path: settings.path, "\(settings.socket) \(fault)",
                severity: fault == .absent ? .warning : .error)
        ]
    }

    /// Makes the authenticator. It connects when the first login comes.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        try await ExternalProcessAuthenticator(settings, context: context)
    }

    private static func kinds(_ reader: ConfigurationReader) -> Set<CredentialKind>? {
        guard let values = reader.sequence("kinds") else { return nil }
        if values.isEmpty { reader.report("kinds", "takes nothing; name a kind, or leave it out for both") }
        let kinds = values.compactMap { node, path -> CredentialKind? in
            guard let text = reader.string(of: node, under: path) else { return nil }
            let kind = CredentialKind(rawValue: text)
            if kind == nil { reader.report(at: node.location, under: path, "\"\(text)\" is none of: password, bearer") }
            return kind
        }
        return Set(kinds)
    }
}
