internal import Foundation
internal import Glibc

/// The data, the configuration and the socket of one server, and the process that removes them.
final class PostgreSQLDirectory: Sendable {
    let files: TestFiles
    private let programs: String
    private let keeper: Keeper

    var path: String { files.path }
    private var data: String { "\(path)/data" }
    /// The end of what the server has logged.
    var log: String { String(((try? files.text(of: "log")) ?? "").suffix(4000)) }

    init(programs: String, _ options: PostgreSQLServer.Options, port: Int?) throws {
        self.programs = programs
        files = try TestFiles()
        keeper = try Keeper(of: files.path)
        if SystemTools.isRoot { try Self.giveToServer(path) }
        try run(
            "initdb",
            [
                "--no-sync", "--no-instructions", "--auth=peer", "--username=\(PostgreSQLServer.administrator)",
                "--encoding=UTF8", "--locale=C", "--pgdata=\(data)",
            ])
        try write(Self.access(withTLS: options.certificate != nil), to: "data/pg_hba.conf")
        try write(Self.localUsers(), to: "data/pg_ident.conf")
        var settings = [
            "listen_addresses = '\(port == nil ? "" : "127.0.0.1")'", "port = \(port ?? 5432)",
            "unix_socket_directories = '\(path)'", "max_connections = 400", "shared_buffers = 32MB", "jit = off",
            "log_min_messages = warning", "max_wal_senders = 0", "wal_level = minimal",
            // The default's files in /dev/shm survive a server that is killed.
            "dynamic_shared_memory_type = mmap",
        ]
        if !options.isDurable { settings += ["fsync = off", "full_page_writes = off"] }
        if let certificate = options.certificate {
            try write(certificate.certificate, to: "server.pem")
            try write(certificate.key, to: "server.key")
            settings += ["ssl = on", "ssl_cert_file = '\(path)/server.pem'", "ssl_key_file = '\(path)/server.key'"]
        }
        if let authority = options.clientAuthority {
            try write(authority, to: "clients.pem")
            settings.append("ssl_ca_file = '\(path)/clients.pem'")
        }
        settings += options.settings
        try write(settings.joined(separator: "\n") + "\n", to: "data/postgresql.auto.conf")
    }

    /// Starts the server and returns its process. Does not wait until it accepts sessions.
    func startServer() throws -> Process {
        let process = command("postgres", ["-D", data])
        let log = "\(path)/log"
        if !FileManager.default.fileExists(atPath: log) { try files.write("", to: "log") }
        let output = try FileHandle(forWritingTo: URL(filePath: log))
        try output.seekToEnd()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        return process
    }

    /// The rules of access (`pg_hba.conf`): the roles of the tests from the socket, for the user who runs them; others with a
    /// password, over TCP only with TLS.
    private static func access(withTLS: Bool) -> String {
        """
        local all \(PostgreSQLServer.user),\(PostgreSQLServer.administrator) peer map=tests
        local all all scram-sha-256

        """
            + (withTLS
                ? "hostssl all client 127.0.0.1/32 cert\nhostssl all all 127.0.0.1/32 scram-sha-256\n" : "")
    }

    /// The roles of the user who runs the tests (`pg_ident.conf`).
    private static func localUsers() throws -> String {
        guard let entry = getpwuid(geteuid()) else { throw SystemTools.Failure(description: "the user has no name") }
        let name = String(cString: entry.pointee.pw_name)
        return "tests \(name) \(PostgreSQLServer.user)\ntests \(name) \(PostgreSQLServer.administrator)\n"
    }

    private func write(_ text: String, to name: String) throws {
        let file = try files.write(text, to: name)
        if SystemTools.isRoot { try Self.giveToServer(file) }
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        let process = command(program, arguments)
        let output = Pipe()
        process.standardOutput = FileHandle.nullDevice
        process.standardError = output
        try process.run()
        let reason = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw SystemTools.Failure(description: "\(program): \(reason)") }
    }

    /// PostgreSQL refuses to run as root.
    private func command(_ program: String, _ arguments: [String]) -> Process {
        let process = Process()
        var line = ["\(programs)/\(program)"] + arguments
        if SystemTools.isRoot, let setPrivileges = SystemTools.setPrivileges {
            line = [setPrivileges, "--reuid=\(Self.owner)", "--regid=\(Self.owner)", "--clear-groups", "--"] + line
        }
        process.executableURL = URL(filePath: line[0])
        process.arguments = Array(line.dropFirst())
        process.currentDirectoryURL = URL(filePath: "/")
        process.environment = ["PATH": "/usr/bin:/bin", "LC_ALL": "C"]
        process.standardInput = FileHandle.nullDevice
        return process
    }

    /// nobody. The group has the same number in Debian.
    private static let owner: uid_t = 65_534

    private static func giveToServer(_ path: String) throws {
        guard chown(path, owner, owner) == 0 else { throw SystemTools.Failure(description: "chown \(path)") }
    }
}

/// A process that waits for the end of this one, then kills the server of a directory and removes the directory.
///
/// PR_SET_PDEATHSIG would not do: it ends the server with the thread that started it.
private final class Keeper: Sendable {
    private let input: FileHandle

    private static let script = """
        trap '' HUP INT TERM
        read -r _
        pid=$(head -n 1 "$0/data/postmaster.pid" 2>/dev/null)
        is_running() { tr '\\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$0/data"; }
        if [ -n "$pid" ] && is_running; then
            kill -CONT $(cat "/proc/$pid/task/$pid/children") "$pid"
            kill -QUIT "$pid"
            for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do is_running && sleep 0.3; done
            is_running && kill -KILL "$pid"
        fi
        # A killed server leaves a segment of shared memory, which the seventh line names by key and number.
        segment=$(sed -n '7s/.* //p' "$0/data/postmaster.pid" 2>/dev/null)
        [ -z "$segment" ] || ipcrm -m "$segment"
        rm -rf -- "$0"
        """

    init(of directory: String) throws {
        let pipe = Pipe()
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", Self.script, directory]
        process.standardInput = pipe
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        input = pipe.fileHandleForWriting
    }
}
