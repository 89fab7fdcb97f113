import Foundation
import GatewaySupport
import GatewayTesting

/// A `notify-gateway serve` process in a directory of its own, for the duration of one test.
struct ServedProgram {
    let directory: TestFiles
    let client: RawClient
    /// The port of the listener on 127.0.0.1.
    let port: Int
    /// The port of the admin listener on 127.0.0.1.
    let adminPort: Int?
    /// The log of the process.
    let log: Log
    private let process: Process

    /// The log lines of a process. The log is complete when the process has exited.
    final class Log: Sendable {
        private let lines = AwaitableValue("")
        private let (ends, end) = AsyncStream<Void>.makeStream()

        var text: String { lines.current }

        /// Returns once the log has the text this many times.
        func contains(_ text: String, times: Int = 1) async {
            await lines.wait { $0.components(separatedBy: text).count > times }
        }

        func add(_ text: String) { lines.withLock { $0 += text } }

        func close() { end.finish() }

        /// Returns when the log is complete.
        func isComplete() async { for await _ in ends {} }
    }

    /// The process for measurements from outside.
    var observed: ObservedProcess { ObservedProcess(pid: process.processIdentifier) }

    /// Runs the body while a gateway with `gateway.yaml` serves on a port of 127.0.0.1, and then stops it with SIGTERM.
    ///
    /// - Parameters:
    ///   - descriptors: the limit on open file descriptors; nil for the limit of the system.
    ///   - arguments: additional arguments of `serve`.
    ///   - asServiceAccount: whether the process runs as the account of `ServiceAccount`, which needs root.
    /// - Returns: the result of the body and the exit status of the process.
    static func run<Result>(
        in directory: TestFiles, descriptors: Int? = nil, arguments: [String] = [], asServiceAccount: Bool = false,
        _ body: (ServedProgram) async throws -> Result
    ) async throws -> (result: Result, status: Int32) {
        let configuration = try directory.text(of: "gateway.yaml")
        // No load balancer polls the readiness in these tests, so the grace period is zero.
        if !configuration.contains("drain:") {
            try directory.write(configuration + "\ndrain: { grace: 0s }\n", to: "gateway.yaml")
        }
        let process = Process()
        let command = [Program.path, "serve", "--config", "\(directory.path)/gateway.yaml"] + arguments
        let limits = descriptors.map { ["/usr/bin/prlimit", "--nofile=\($0):\($0)"] } ?? []
        let limited = limits + (asServiceAccount ? ServiceAccount.prefix : []) + command
        process.executableURL = URL(filePath: limited[0])
        process.arguments = Array(limited.dropFirst())
        let pipe = Pipe()
        let log = Log()
        process.standardError = pipe
        process.standardOutput = FileHandle.nullDevice
        let (statuses, status) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = {
            status.yield($0.terminationStatus)
            status.finish()
        }
        try process.run()
        defer { process.terminate() }
        let ports = try await ports(from: pipe.fileHandleForReading, log)
        let served = ServedProgram(
            directory: directory, client: try RawClient(port: ports.listener), port: ports.listener,
            adminPort: ports.admin, log: log, process: process)
        let result = try await body(served)
        process.terminate()
        await log.isComplete()
        for await status in statuses { return (result, status) }
        throw GatewayUnderTest.StartFailure(description: "no end")
    }

    /// The process id, for tests that kill the process.
    var processIdentifier: Int32 { process.processIdentifier }

    /// Kills the process with SIGKILL.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Runs a command with the configuration of this gateway.
    func command(_ arguments: String...) async throws -> Program.Outcome { try await command(arguments) }

    /// Runs a command with the configuration of this gateway.
    func command(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], in: directory.path)
    }

    /// Returns the ports that the gateway logs at start.
    private static func ports(from handle: FileHandle, _ log: Log) async throws -> (listener: Int, admin: Int?) {
        // The read blocks, so it runs on its own thread.
        let text: String = await withCheckedContinuation { continuation in
            let thread = Thread {
                var serves = false
                while true {
                    let data = handle.availableData
                    if data.isEmpty { break }
                    log.add(String(decoding: data, as: UTF8.self))
                    if serves { continue }
                    let text = log.text
                    serves = text.contains("Gateway started") && text.hasSuffix("\n")
                    if serves { continuation.resume(returning: text) }
                }
                if !serves { continuation.resume(returning: log.text) }
                log.close()
            }
            thread.start()
        }
        guard let port = text.firstMatch(of: /"listeners":"[^"]*127\.0\.0\.1:(\d+)/).flatMap({ Int($0.1) }) else {
            throw GatewayUnderTest.StartFailure(description: text)
        }
        return (port, text.firstMatch(of: /"admin":"127\.0\.0\.1:(\d+)"/).flatMap { Int($0.1) })
    }
}
