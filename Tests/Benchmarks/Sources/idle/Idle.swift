import ArgumentParser
import BenchmarkSupport
import Foundation
import NIOCore
import NIOPosix

@main
struct Idle: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "idle",
        abstract: "Measure the gateway's start time and its memory while idle.",
        discussion: "Example: idle --program .build/release/notify-gateway --starts 5")

    @Option(help: "The gateway's program.") var program = GatewayProcess.builtProgram
    @Option(help: "The number of starts.") var starts = 9
    @Option(help: "The number of idle connections.") var connections = 2_000
    @Option(help: "A directory for the gateway's files.") var directory = "/var/tmp"

    func validate() throws {
        guard (1...100).contains(starts) else { throw ValidationError("--starts needs a value from 1 to 100") }
        guard (1...9_000).contains(connections) else {
            throw ValidationError("--connections needs a value from 1 to 9000")
        }
    }

    func run() async throws {
        let backend = try await FixedBackend()
        var startups: [Double] = []
        var resident: [Double] = []
        for _ in 0..<starts {
            let home = try TemporaryDirectory(in: directory)
            let gateway = try GatewayProcess(program, GatewaySetup(directory: home.path, backendPort: backend.port))
            startups.append(gateway.startup.inSeconds * 1000)
            try await gateway.waitUntilIdle()
            resident.append(Double(gateway.residentBytes) / 1_048_576)
            gateway.stop()
        }
        let perConnection = try await bytesPerConnection(backend)
        let results: [(what: String, value: Double, aim: Double, unit: String)] = [
            ("ready after a start", startups.median, 200, "ms"), ("resident when idle", resident.median, 40, "MiB"),
            ("an idle connection that was used", perConnection / 1024, 12, "KiB"),
        ]
        var isGood = true
        for result in results {
            let isReached = result.value < result.aim
            isGood = isGood && isReached
            let word = isReached ? "reached:" : "MISSED: "
            print(
                word,
                String(format: "%@: %.1f %@ (aim: under %.0f)", result.what, result.value, result.unit, result.aim))
        }
        print(String(format: "starts: %.0f to %.0f ms", startups.min() ?? 0, startups.max() ?? 0))
        try await backend.stop()
        if !isGood { throw ExitCode(1) }
    }

    /// Returns the additional memory of one idle connection after a call.
    private func bytesPerConnection(_ backend: FixedBackend) async throws -> Double {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let home = try TemporaryDirectory(in: directory)
        let setup = GatewaySetup(directory: home.path, backendPort: backend.port)
        let send = CallBytes.send("Bearer \(try setup.tokens(of: ["alice"])[0])")
        let gateway = try GatewayProcess(program, setup)
        // The first calls allocate memory that does not belong to connections.
        let warm = try await ClosedLoad(connections: 100, port: gateway.port, on: group.next())
        try await warm.run(20_000) { _ in send }
        try await gateway.waitUntilIdle()
        let before = gateway.residentBytes
        let load = try await ClosedLoad(connections: connections, port: gateway.port, on: group.next())
        try await load.runOnEach(send, atATime: 32)
        try await gateway.waitUntilIdle()
        let after = gateway.residentBytes
        load.close()
        warm.close()
        gateway.stop()
        try await group.shutdownGracefully()
        return Double(after - before) / Double(connections)
    }
}
