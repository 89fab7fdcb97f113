import Foundation
import GatewayTesting
import Testing

@testable import PAM

/// A worker service process that runs until the value is destroyed.
final class WorkerServiceProcess {
    let socket: String
    private let process = Process()

    /// Starts the service and waits until it listens.
    ///
    /// - Parameter wrapper: a command that runs the service's command line, for example with fewer privileges.
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
        // The first line of its output reports that it listens.
        let line = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
        try #require(line.contains("started"), "\(line)")
    }

    deinit { terminate() }

    /// Terminates the service as a service manager would. Its socket stays behind.
    func terminate() {
        process.terminate()
        process.waitUntilExit()
    }

    /// Kills the service with SIGKILL.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The number of its workers, zombies included.
    ///
    /// The service handles closed connections before it accepts a new one. After a new connection is served, the
    /// workers of all connections closed before are gone.
    var workers: Int { ObservedProcess(pid: process.processIdentifier).children.count }

    /// Returns an authenticator that uses the service's workers.
    func authenticator(_ change: (inout PAMPlugin.Settings) -> Void = { _ in }) -> PAMAuthenticator {
        var settings = PAMPlugin.Settings(service: PAMStack.service)
        settings.socket = socket
        settings.workers = 2
        settings.program = "/nonexistent"
        change(&settings)
        return PAMAuthenticator(settings, context: .inRealTime())
    }
}
