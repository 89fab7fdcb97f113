internal import CPAM
internal import Foundation
public import GatewayCore
public import GatewaySupport
internal import Logging
internal import WorkerProcesses

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

extension PAMPlugin {
    /// The settings under `pam:` in the configuration.
    public struct Settings: Sendable {
        /// `service`: the PAM service, the name of a file in `/etc/pam.d`. Required; 1–64 of `A–Z a–z 0–9 _ -`.
        public var service: String
        /// `minimum-uid`: the lowest uid that may log in. Default 1000, at least 1: root never logs in.
        public var minimumUID: UInt32 = 1000
        /// `workers`: the number of concurrent logins, each in its own process. 1 to 64, default twice the cores, at
        /// most 8.
        public var workers = min(2 * ProcessInfo.processInfo.activeProcessorCount, 8)
        /// `deadline`: the maximum duration of a login, with the time in the queue. 100 ms to 60 s, default 10 s.
        public var deadline: Duration = .seconds(10)
        /// `queue`: the number of logins that may wait for a worker. 4 to 4096, default 64. One address may use a
        /// quarter.
        public var queue = 64
        /// `service-directory`: the directory of the service's file, instead of the system's directories. Not with
        /// `socket`.
        public var serviceDirectory: String?
        /// `socket`: the Unix socket of a worker service that runs as another user. Without it the gateway starts the
        /// workers itself.
        public var socket: String?

        /// The location of `service` in the configuration, for problems that are found later.
        var place = Location()
        /// The location of `socket` in the configuration.
        var socketPlace = Location()
        /// The program to start as a worker: this program.
        var program = "/proc/self/exe"
        /// The number of logins after which a worker is replaced, because modules leak memory and descriptors.
        var loginsPerWorker = 100
        /// The delay before a new worker after workers that failed.
        var backOff = Backoff()

        /// Creates settings for a service, with the configuration's defaults.
        public init(service: String) { self.service = service }

        /// The location of a value in the configuration.
        struct Location: Sendable {
            var location = SourceLocation(file: "")
            var path = ""
        }
    }
}

extension PAMPlugin.Settings.Location {
    init(of name: String, in reader: ConfigurationReader) {
        location = reader.node(name)?.location ?? reader.location
        path = reader.inner(name)
    }

    /// Returns a problem at this location.
    func problem(_ message: String, severity: ConfigurationProblem.Severity = .error) -> ConfigurationProblem {
        ConfigurationProblem(at: location, path: path, message, severity: severity)
    }
}

extension PAMPlugin.Settings {
    /// Whether the text is a valid service name: it becomes a file name and a worker's argument.
    static func isServiceName(_ text: String) -> Bool {
        guard (1...64).contains(text.utf8.count), !text.hasPrefix("-") else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }

    /// Returns every problem of the stack, or of the socket if one is configured.
    func problems() -> [ConfigurationProblem] {
        guard Self.isServiceName(service) else { return [place.problem("\"\(service)\" is not a service name")] }
        if let socket { return problems(of: socket) }
        let stack = ServiceStack(service: service, directory: serviceDirectory)
        var problems = stack.errors.map { place.problem($0.description) }
        problems += stack.warnings.map { place.problem($0.description, severity: .warning) }
        if geteuid() != 0 {
            problems.append(
                place.problem(
                    "runs without root privileges, with which most modules, pam_unix among them, verify only the "
                        + "gateway's own user; see \"socket\"", severity: .warning))
        }
        return problems
    }

    private func problems(of socket: String) -> [ConfigurationProblem] {
        // The worker service reads the stack before each login. It may use another directory than the system's, so
        // what is found here does not prevent the start.
        let stack = ServiceStack(service: service, directory: nil)
        let warnings = (stack.file == nil ? [] : stack.errors + stack.warnings).map {
            place.problem($0.description, severity: .warning)
        }
        return warnings + socketProblems(socket)
    }

    private func socketProblems(_ socket: String) -> [ConfigurationProblem] {
        var status = stat()
        guard stat(socket, &status) == 0 else {
            let reason = String(cString: strerror(errno))
            return [
                socketPlace.problem(
                    "\(socket): \(reason); logins are unavailable until the worker service starts", severity: .warning)
            ]
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { return [socketPlace.problem("\(socket) is not a socket")] }
        return []
    }
}

extension WorkerPoolSettings {
    init(_ settings: PAMPlugin.Settings) {
        let source: WorkerSource
        if let socket = settings.socket {
            source = .service(socket: socket)
        } else {
            let arguments = WorkerArguments(service: settings.service, serviceDirectory: settings.serviceDirectory)
            source = .program(settings.program, arguments: ["pam-worker"] + arguments.commandLine)
        }
        self.init(
            source: source, workers: settings.workers, deadline: settings.deadline, queue: settings.queue,
            failureMessage: "PAM worker failed", requestsPerWorker: settings.loginsPerWorker,
            backoff: settings.backOff)
    }
}
