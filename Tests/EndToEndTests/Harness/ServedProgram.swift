import Foundation
import GatewayTesting

/// `notify-gateway serve` as a process, in a directory of its own, for the time of one test.
struct ServedProgram {
    let directory: TestFiles
    let client: RawClient
    /// Where it listens, on 127.0.0.1.
    let port: Int
    private let process: Process

    /// What others see of it.
    var observed: ObservedProcess { ObservedProcess(pid: process.processIdentifier) }

    /// Runs the body while the gateway of `gateway.yaml` serves on a port of 127.0.0.1, and then stops it as an operator would.
    ///
    /// - Returns: what the body returns, and the status that the process ended with.
    static func run<Result>(
        in directory: TestFiles, _ body: (ServedProgram) async throws -> Result
    ) async throws -> (result: Result, status: Int32) {
        let process = Process()
        process.executableURL = URL(filePath: Program.path)
        process.arguments = ["serve", "--config", "\(directory.path)/gateway.yaml"]
        let log = Pipe()
        process.standardError = log
        process.standardOutput = FileHandle.nullDevice
        let (statuses, status) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = {
            status.yield($0.terminationStatus)
            status.finish()
        }
        try process.run()
        defer { process.terminate() }
        let port = try await port(from: log.fileHandleForReading)
        let served = ServedProgram(
            directory: directory, client: try RawClient(port: port), port: port, process: process)
        let result = try await body(served)
        process.terminate()
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
    func command(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], in: directory.path)
    }

    /// The port that the gateway says it serves on. What it logs after that is read and thrown away.
    private static func port(from handle: FileHandle) async throws -> Int {
        // Reading blocks, and a test's thread may not.
        let text: String = await withCheckedContinuation { continuation in
            let thread = Thread {
                var text = ""
                var serves = false
                while true {
                    let data = handle.availableData
                    if data.isEmpty { break }
                    if serves { continue }
                    text += String(decoding: data, as: UTF8.self)
                    serves = text.contains("The gateway serves") && text.hasSuffix("\n")
                    if serves { continuation.resume(returning: text) }
                }
                if !serves { continuation.resume(returning: text) }
            }
            thread.start()
        }
        guard let port = text.firstMatch(of: /"listeners":"[^"]*127\.0\.0\.1:(\d+)/).flatMap({ Int($0.1) }) else {
            throw GatewayUnderTest.StartFailure(description: text)
        }
        return port
    }
}
