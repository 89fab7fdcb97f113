import Foundation
import GatewayTesting
import Testing

@testable import PAM

/// A worker service that runs until the value goes.
final class WorkerServiceProcess {
    let socket: String
    private let process = Process()

    /// Starts one; returns when it listens.
    ///
    /// - Parameter wrapper: a command that runs the one behind it, with less rights for example.
    init(_ stack: PAMStack, allow: uid_t = geteuid(), under wrapper: [String] = []) throws {
        socket = "\(stack.path)/worker.sock"
        let command =
            wrapper + [
                SystemTools.program, "pam-worker", "--listen", socket, "--allow", "\(allow)", "--service",
                PAMStack.service, "--service-directory", stack.path,
            ]
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        // Its first line says that it listens.
        let line = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        try #require(line.contains("serves"), "\(line)")
    }

    deinit { end() }

    /// As a service manager would; its socket stays behind.
    func end() {
        process.terminate()
        process.waitUntilExit()
    }

    /// As nobody should.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Its workers, zombies included.
    ///
    /// The service looks after ends of connections before it takes a new one. Whoever has been served by it therefore finds
    /// the workers of all connections gone that were closed before.
    var workers: Int { ObservedProcess(pid: process.processIdentifier).children.count }

    /// An authenticator that has the service's workers and none of its own.
    func authenticator(_ change: (inout PAMPlugin.Settings) -> Void = { _ in }) -> PAMAuthenticator {
        var settings = PAMPlugin.Settings(service: PAMStack.service)
        settings.socket = socket
        settings.workers = 2
        settings.program = "/nonexistent"
        change(&settings)
        return PAMAuthenticator(settings, context: .inRealTime())
    }
}
