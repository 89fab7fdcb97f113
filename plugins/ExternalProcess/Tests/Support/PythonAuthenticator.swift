import Foundation

/// The example in Python, running.
final class PythonAuthenticator {
    /// Where python3 is, or nil on a machine without it.
    static let interpreter: String? = {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").map { "\($0)/python3" }.first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
    }()

    /// An end of the script that no test wanted.
    struct Failure: Error { let output: String }

    static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Examples/authenticator.py").path

    private let process: Process

    /// Adds a user by the script's own command.
    static func add(_ user: String, password: String, groups: [String], to users: String) throws {
        // By a file: whoever else the tests start at that moment could hold the end of a pipe open.
        let secret = users + ".password"
        try Data(password.utf8).write(to: URL(fileURLWithPath: secret))
        defer { try? FileManager.default.removeItem(atPath: secret) }
        // Cheap hashes: the conformance run makes a hundred logins.
        let process = try make(
            ["add", users, user, "--cost", "256", "--password-file", secret] + groups.flatMap { ["--group", $0] })
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: "exit \(process.terminationStatus)") }
    }

    /// Starts to serve; returns when it listens.
    init(users: String, socket: String) throws {
        process = try Self.make(["serve", users, socket])
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        // It says one line as soon as it listens; an empty answer is its end.
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard line.hasPrefix("listening") else { throw Failure(output: line) }
    }

    deinit {
        // Not SIGTERM: the child has the signal mask of the thread that started it, and those of tests block that one.
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
