import Foundation

/// A running instance of the Python example.
final class PythonAuthenticator {
    /// The path of python3, or nil on a machine without it.
    static let interpreter: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/python3" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }()

    /// An unexpected exit of the script.
    struct Failure: Error { let output: String }

    static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples/authenticator.py").path

    private let process: Process

    /// Adds a user with the script's own command.
    static func add(_ user: String, password: String, groups: [String], to users: String) throws {
        // A file instead of a pipe: a process that another test starts at that moment could inherit the pipe and keep
        // it open.
        let secret = users + ".password"
        try Data(password.utf8).write(to: URL(fileURLWithPath: secret))
        defer { try? FileManager.default.removeItem(atPath: secret) }
        // A low cost, because the conformance run makes about a hundred logins.
        try run(["add", users, user, "--cost", "256", "--password-file", secret] + groups.flatMap { ["--group", $0] })
    }

    /// Runs a command of the script.
    static func run(_ arguments: [String]) throws {
        let process = try make(arguments)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: "exit \(process.terminationStatus)") }
    }

    /// Starts the script and waits until it listens.
    init(users: String, socket: String) throws {
        process = try Self.make(["serve", users, socket])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // The script prints one line as soon as it listens. Empty output means that it exited.
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard line.hasPrefix("listening") else { throw Failure(output: line) }
    }

    deinit {
        // Not SIGTERM: the child inherited the signal mask of a test thread, which may block it.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private static func make(_ arguments: [String]) throws -> Process {
        guard let interpreter else { throw Failure(output: "no python3") }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: interpreter)
        process.arguments = [script] + arguments
        return process
    }
}
