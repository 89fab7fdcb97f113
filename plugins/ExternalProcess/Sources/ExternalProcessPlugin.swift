public import GatewayCore
public import GatewaySupport

/// The `external-process` authenticator: queries a separate process, written in any language, over a Unix socket.
///
/// This plug-in's README specifies the protocol.
public enum ExternalProcessPlugin: AuthenticatorPlugin {
    /// `external-process`
    public static let name: PluginName = "external-process"
    /// Both kinds. The setting `kinds` narrows them, and so does the process's hello.
    public static let credentialKinds: Set<CredentialKind> = [.password, .bearer]
    /// The configured `kinds`. The process's own kinds are known only after it has connected.
    public static func credentialKinds(_ settings: Settings) -> Set<CredentialKind> { settings.delegation.kinds }
    /// `status` if the setting says so. It does not depend on the running process, because sessions and devices live
    /// shorter without a status.
    public static func accountStatusSupport(_ settings: Settings) -> AccountStatusSupport {
        settings.reportsStatus ? .status : .loginsOnly
    }

    /// The settings under `external-process:` in the configuration.
    public struct Settings: Sendable {
        /// `socket`: the path on which the process listens. Required; relative to the configuration's directory; at
        /// most 107 bytes.
        public var socket: String
        /// The kinds, the timeout and the limits of the queries.
        public var delegation: DelegationSettings
        /// `status`: whether the process reports the status of accounts, with version 2 of the protocol. Default:
        /// false.
        public var reportsStatus: Bool
        /// The location of `socket` in the configuration, for problems that are found later.
        public var location: SourceLocation
        /// The path of the setting `socket` from the configuration's root, for the same problems.
        public var path: String

        /// Creates settings with the configuration's defaults.
        public init(
            socket: String, delegation: DelegationSettings = DelegationSettings(), reportsStatus: Bool = false,
            location: SourceLocation = SourceLocation(file: ""), path: String = "socket"
        ) {
            self.socket = socket
            self.delegation = delegation
            self.reportsStatus = reportsStatus
            self.location = location
            self.path = path
        }
    }

    /// Reads the settings. The caller reports unknown keys: it calls `finish()` on the reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let location = reader.node("socket")?.location ?? reader.location
        let socket = reader.required("socket").map(reader.absolute)
        if let socket, !SocketFile.isAddress(socket) {
            reader.report("socket", "is longer than \(SocketFile.maximumPathLength) bytes, or contains a NUL")
        }
        let delegation = DelegationSettings(reader)
        let reportsStatus = reader.bool("status") ?? false
        guard let socket, SocketFile.isAddress(socket) else { return nil }
        return Settings(
            socket: socket, delegation: delegation, reportsStatus: reportsStatus, location: location,
            path: reader.inner("socket"))
    }

    /// Returns the problem of the socket's file, if any. A missing socket is a warning, because the process may start
    /// after the gateway. Does not connect.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        let fault: SocketFile.Fault?
        do { fault = try await context.filePool.run { SocketFile.fault(at: settings.socket) } } catch {
            fault = .unreadable("the queue of the file threads is full; try again")
        }
        guard let fault else { return [] }
        return [
            ConfigurationProblem(
                at: settings.location, path: settings.path, "\(settings.socket) \(fault)",
                severity: fault == .absent ? .warning : .error)
        ]
    }

    /// Makes the authenticator. The first login opens the first connection.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        settings.reportsStatus
            ? try await ExternalProcessAccountAuthenticator(settings, context: context)
            : try await ExternalProcessAuthenticator(settings, context: context)
    }
}
