internal import Foundation
internal import GatewaySupport
internal import Glibc
package import PostgreSQLClient
internal import Synchronization

/// A PostgreSQL server of the tests, with its own directory, as an unprivileged user. The system's servers are not touched.
///
/// It ends with the last reference to it, and with the test process, however that ends: a keeper process waits for that.
public final class PostgreSQLServer: Sendable {
    /// The role of the tests, which owns the database and needs no password on the Unix socket. It is no superuser, like that of
    /// a gateway.
    public static let user = "gateway"
    /// The superuser, with whom tests change the server.
    static let administrator = "postgres"
    /// The name of the database.
    public static let database = "postgres"

    /// The settings in which the servers of tests differ.
    public struct Options: Sendable {
        /// The server's certificate, for TLS on a port of 127.0.0.1; without one it has only the Unix socket.
        public var certificate: TestCertificate?
        /// The authority, in PEM, whose client certificates the role `client` uses instead of a password.
        public var clientAuthority: String?
        /// Whether commits survive a crash of the machine. They always survive ``PostgreSQLServer/kill()``.
        public var isDurable = false
        /// Further settings, as in postgresql.conf.
        public var settings: [String] = []

        /// Creates the options of a server on a Unix socket.
        public init() {}
    }

    private static let programs: String? = {
        // The variable names the programs of another version, for a run of the tests with it.
        if let folder = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_POSTGRESQL"] { return folder }
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        let newest = versions.compactMap { Int($0) }.sorted().last { version in
            ["initdb", "postgres"].allSatisfy {
                FileManager.default.isExecutableFile(atPath: "\(root)/\(version)/bin/\($0)")
            }
        }
        return newest.map { "\(root)/\($0)/bin" }
    }()

    /// Whether Debian's package `postgresql` is installed.
    public static let isInstalled = programs != nil && (!SystemTools.isRoot || SystemTools.setPrivileges != nil)

    private static let one: PostgreSQLServer? = {
        guard isInstalled else {
            print("PostgreSQL is not installed: its tests are skipped.")
            return nil
        }
        do { return try PostgreSQLServer() } catch {
            // A test that needs it fails with its own message.
            print("PostgreSQL did not start: \(error)")
            return nil
        }
    }()

    /// The server that all tests of the process share, started by the first use; nil if PostgreSQL is not installed.
    ///
    /// Tests that stop or freeze a server start their own.
    public static func shared() -> PostgreSQLServer? { one }

    private let directory: PostgreSQLDirectory
    private let port: ReservedPort?
    private let process = Mutex<Process?>(nil)
    private static let lastSchema = Atomic(0)

    /// Creates a server's directory and starts the server.
    public init(_ options: Options = Options()) throws {
        guard let programs = Self.programs else { throw SystemTools.Failure(description: "PostgreSQL is missing") }
        port = options.certificate == nil ? nil : try ReservedPort()
        directory = try PostgreSQLDirectory(programs: programs, options, port: port?.number)
        try start()
        // Not waiting for a standby, which the options may demand.
        try run(
            """
            SET synchronous_commit = local;
            CREATE ROLE \(Self.user) LOGIN;
            ALTER DATABASE \(Self.database) OWNER TO \(Self.user)
            """)
    }

    deinit { stop() }

    /// The directory of the Unix socket.
    public var socketDirectory: String { directory.path }
    /// The number in the socket's name.
    public var socketPort: Int { tcpPort ?? 5432 }
    /// The port on 127.0.0.1, if the server has one.
    public var tcpPort: Int? { port?.number }
    /// The process id of the postmaster, or nil while it does not run.
    public var processIdentifier: Int32? { process.withLock { $0?.processIdentifier } }

    /// The settings for the Unix socket, without a schema.
    package var settings: PostgreSQLSettings {
        PostgreSQLSettings(
            address: .unixSocket(directory: socketDirectory, port: socketPort), database: Self.database,
            user: Self.user)
    }

    /// The settings for the port with TLS. Only for a server with a certificate.
    package func settings(
        host: String = "localhost", user: String = user, password: String? = nil, authority: String
    ) throws -> PostgreSQLSettings {
        let file = try directory.files.write(authority, to: "authority-\(UUID().uuidString).pem", mode: 0o644)
        return PostgreSQLSettings(
            address: .hosts([.init(host, port: tcpPort ?? 0)], authorities: .file(file), clientCertificate: nil),
            database: Self.database, user: user, password: password.map { Secret($0.utf8) })
    }

    /// Returns the settings for a new, empty schema, which is all that a test sees of the database.
    package func freshDatabase() throws -> PostgreSQLSettings {
        var settings = settings
        let schema = "test_\(Self.lastSchema.add(1, ordering: .relaxed).newValue)"
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(30))
        defer { connection.close() }
        try connection.simple("CREATE SCHEMA \(schema)")
        settings.schema = schema
        return settings
    }

    /// The settings of the superuser.
    private var administration: PostgreSQLSettings {
        var settings = settings
        settings.user = Self.administrator
        return settings
    }

    /// Runs statements as the superuser.
    public func run(_ script: String) throws {
        let connection = try PostgreSQLConnection.connect(administration, within: .seconds(30))
        defer { connection.close() }
        try connection.simple(script)
    }

    /// Starts the server, which is stopped, and waits until it accepts sessions.
    public func start() throws {
        let process = try directory.startServer()
        self.process.withLock { $0 = process }
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do throws(PostgreSQLError) {
                try PostgreSQLConnection.connect(administration, within: .seconds(5)).close()
                return
            } catch {
                guard process.isRunning, ContinuousClock.now < end else {
                    throw SystemTools.Failure(description: "PostgreSQL did not start: \(error)\n\(directory.log)")
                }
            }
            usleep(5000)
        }
    }

    /// Kills the server and all its sessions, as a crash would, and waits until they are gone.
    public func kill() {
        process.withLock { process in
            guard let running = process else { return }
            // Stopped first, so that it forks no session that the list lacks.
            Glibc.kill(running.processIdentifier, SIGSTOP)
            let sessions = ObservedProcess(pid: running.processIdentifier).children
            for pid in sessions + [running.processIdentifier] { Glibc.kill(pid, SIGKILL) }
            running.waitUntilExit()
            // Another process reaps them.
            for pid in sessions { while !ObservedProcess(pid: pid).commandLine.isEmpty { usleep(1000) } }
            process = nil
        }
    }

    private func stop() {
        thaw()
        process.withLock { process in
            // The immediate shutdown, which removes the server's shared memory.
            if let process { Glibc.kill(process.processIdentifier, SIGQUIT) }
            process?.waitUntilExit()
        }
    }

    /// Kills the server and starts it again.
    public func restart() throws {
        kill()
        try start()
    }

    /// Stops all processes of the server, so that it accepts connections and never responds.
    public func freeze() { signal(SIGSTOP) }

    /// Continues a frozen server.
    public func thaw() { signal(SIGCONT) }

    private func signal(_ number: Int32) {
        process.withLock { process in
            guard let pid = process?.processIdentifier else { return }
            // The postmaster first: while it is stopped, it forks no further session.
            Glibc.kill(pid, number)
            for child in ObservedProcess(pid: pid).children { Glibc.kill(child, number) }
        }
    }
}
