public import GatewayCore
public import GatewaySupport

/// The `pam` authenticator: verifies passwords of system accounts with a stack of Pluggable Authentication Modules.
public enum PAMPlugin: AuthenticatorPlugin {
    /// `pam`
    public static let name: PluginName = "pam"
    /// Passwords.
    public static let credentialKinds: Set<CredentialKind> = [.password]
    /// Accounts can be rechecked without a password.
    public static let accountStatusSupport = AccountStatusSupport.status
    /// Modules receive the peer's address and may decide by it.
    public static let outcomeDependsOnPeer = true

    /// Reads the settings described at `Settings`. The caller reports unknown keys: it calls `finish()` on the
    /// reader.
    public static func readSettings(_ reader: ConfigurationReader) -> Settings? {
        let service = reader.required("service")
        if let service, !Settings.isServiceName(service) {
            reader.report("service", "\"\(service)\" is not a service name; use 1 to 64 of A-Z a-z 0-9 _ -")
        }
        let minimumUID = reader.integer("minimum-uid", in: 1...Int(Int32.max))
        let workers = reader.integer("workers", in: 1...64)
        let deadline = reader.duration("deadline", in: .milliseconds(100)...(.seconds(60)))
        let queue = reader.integer("queue", in: 4...4096)
        let directory = reader.path("service-directory")
        let socket = reader.path("socket")
        if directory != nil, socket != nil {
            reader.report(
                "service-directory",
                "cannot be combined with \"socket\"; set it on the command line of the worker service")
        }
        guard let service else { return nil }
        var settings = Settings(service: service)
        if let minimumUID { settings.minimumUID = UInt32(minimumUID) }
        if let workers { settings.workers = workers }
        if let deadline { settings.deadline = deadline }
        if let queue { settings.queue = queue }
        settings.serviceDirectory = directory
        settings.socket = socket
        settings.place = Settings.Location(of: "service", in: reader)
        settings.socketPlace = Settings.Location(of: "socket", in: reader)
        return settings
    }

    /// Returns every problem of the service's stack, or of the socket if one is configured. Reads on the file pool
    /// and calls no module.
    public static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem] {
        do {
            return try await context.filePool.run { settings.problems() }
        } catch {
            return [settings.place.problem("was not checked: the queue of the file threads is full; try again")]
        }
    }

    /// Makes the authenticator. The first login starts the first worker.
    ///
    /// - Throws: `ConfigurationProblem` if the stack became invalid after `problems` read it.
    public static func makeAuthenticator(
        _ settings: Settings, context: PluginContext
    ) async throws -> any Authenticator {
        if let problem = await problems(in: settings, context: context).first(where: { $0.severity == .error }) {
            throw problem
        }
        return PAMAuthenticator(settings, context: context)
    }
}
