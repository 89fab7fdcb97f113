import Foundation
import GatewayTesting
import Synchronization

/// `notify-gateway serve` as a process, in a directory of its own, for the time of one test.
struct ServedProgram {
    let directory: TestFiles
    let client: RawClient
    /// Where it listens, on 127.0.0.1.
    let port: Int
    /// Where its admin listener is, on 127.0.0.1 too.
    let adminPort: Int?
    /// What it logs.
    let log: Log
    private let process: Process

    /// What a process has written to its log, all of it once the process has ended.
    final class Log: Sendable {
        private let lines = Mutex("")
        private let (ends, end) = AsyncStream<Void>.makeStream()

        var text: String { lines.withLock { $0 } }

        func add(_ text: String) { lines.withLock { $0 += text } }

        func close() { end.finish() }

        /// Returns once nothing more comes.
        func isComplete() async { for await _ in ends {} }
    }

    /// What others see of it.
    var observed: ObservedProcess { ObservedProcess(pid: process.processIdentifier) }

    /// Runs the body while the gateway of `gateway.yaml` serves on a port of 127.0.0.1, and then stops it as an operator would.
    ///
    /// - Parameters:
    ///   - descriptors: how many it may have open; nil for as many as the system allows.
    ///   - arguments: what `serve` is given besides the configuration.
    ///   - asServiceAccount: Whether it runs as the account of `ServiceAccount`; only root can do that.
    /// - Returns: what the body returns, and the status that the process ended with.
    static func run<Result>(
        in directory: TestFiles, descriptors: Int? = nil, arguments: [String] = [], asServiceAccount: Bool = false,
        _ body: (ServedProgram) async throws -> Result
    ) async throws -> (result: Result, status: Int32) {
        let configuration = try directory.text(of: "gateway.yaml")
        // Nobody in these tests watches whether it is ready.
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

    /// By which others kill it.
    var processIdentifier: Int32 { process.processIdentifier }

    /// Kills the process, as nobody should.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Runs a command for this gateway.
    func command(_ arguments: String...) async throws -> Program.Outcome { try await command(arguments) }

    /// Runs a command for this gateway.
    func command(_ arguments: [String]) async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], in: directory.path)
    }

    /// The ports that the gateway says it serves on.
    private static func ports(from handle: FileHandle, _ log: Log) async throws -> (listener: Int, admin: Int?) {
        // Reading blocks, and a test's thread may not.
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
