public import GatewayCore

/// The `external-process` authenticator: a process of its own, in any language, asked over a Unix socket.
///
/// The protocol is in this plug-in's README.
public enum ExternalProcessPlugin: AuthenticatorPlugin {
    /// `external-process`
    public static let name: PluginName = "external-process"
    /// Both kinds; `kinds` narrows them, and so does what the process says that it takes.
    public static let takes: Set<CredentialKind> = [.password, .bearer]
    /// What `kinds` says. What the process takes is known only when there is a connection.
    public static func takes(_ settings: Settings) -> Set<CredentialKind> { settings.delegation.kinds }

    /// What stands behind `external-process:` in the configuration.
    public struct Settings: Sendable {
        /// `socket`: the path at which the process listens. Required; relative to the configuration's directory; at
        /// most 107 bytes.
        public var socket: String
        /// What the process is asked about, and with how much patience.
        public var delegation: DelegationSettings
        /// Where the path of the socket stands, for problems that show later.
        public var location: SourceLocation
        /// The path of `socket` from the configuration's root, for the same.
        public var path: String

        /// Settings with the defaults of the configuration.
        public init(
            socket: String, delegation: DelegationSettings = DelegationSettings(),
            location: SourceLocation = SourceLocation(file: ""), path: String = "socket"
        ) {
            self.socket = socket
            self.delegation = delegation
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
        let delegation = DelegationSettings(reader)
        guard let socket, SocketFile.isAddress(socket) else { return nil }
        return Settings(socket: socket, delegation: delegation, location: location, path: reader.inner("socket"))
    }

    /// Whether the socket is one that a login may be sent to. A socket that is not there yet is a warning: the process
    /// may start after the gateway. Connects to nothing.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        let fault: SocketFile.Fault?
        do { fault = try await context.filePool.run { SocketFile.fault(at: settings.socket) } } catch {
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
}
