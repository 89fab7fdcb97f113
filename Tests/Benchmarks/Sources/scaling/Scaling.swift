import ArgumentParser
import BenchmarkSupport
import Foundation
import NIOCore
import NIOPosix

@main
struct Scaling: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scaling",
        abstract: "Whether a call costs more where there are more users, registrations, limiter keys, or records.",
        discussion: "Example: scaling --program .build/release/notify-gateway --only users --rounds 3")

    private static let dimensions: [any Dimension] = [Users(), Registrations(), LimiterKeys(), JournalSize()]
    /// What the largest may cost more than the smallest.
    private static let aim = 0.10

    @Option(help: "The gateway.") var program = GatewayProcess.builtProgram
    @Option(help: "Only what grows whose name begins so: users, registrations, limiter, journal.") var only: String?
    @Option(help: "How often each size is measured, by turns.") var rounds = 7
    @Option(help: "How long each time, in seconds.") var seconds = 2
    @Option(help: "How many clients call at a time.") var connections = 8
    @Option(help: "A disk for the files.") var directory = "/var/tmp"

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds takes 1 to 600") }
        guard (1...1_000).contains(connections) else { throw ValidationError("--connections takes 1 to 1000") }
        guard Self.dimensions.contains(where: isWanted) else {
            throw ValidationError("--only names nothing that grows")
        }
    }

    private func isWanted(_ dimension: any Dimension) -> Bool { only.map(dimension.name.hasPrefix) ?? true }

    func run() async throws {
        let backend = try await FixedBackend()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var isGood = true
        print("| what grows | call | CPU µs a call, from the smallest to the largest | growth |")
        print("| --- | --- | --- | --- |")
        for dimension in Self.dimensions where isWanted(dimension) {
            if let obstacle = dimension.obstacle(in: directory) {
                print("| \(dimension.name) | | \(obstacle) | |")
                continue
            }
            isGood = try await measure(dimension, backend, on: group.next()) && isGood
        }
        try await backend.stop()
        try await group.shutdownGracefully()
        print("aim: at most \(Int(Self.aim * 100)) % from the smallest to the largest")
        if !isGood { throw ExitCode(1) }
    }

    private func measure(
        _ dimension: any Dimension, _ backend: FixedBackend, on loop: any EventLoop
    ) async throws -> Bool {
        var cases: [Case] = []
        for size in dimension.sizes {
            say("preparing \(dimension.text(of: size)) \(dimension.name)")
            cases.append(
                try await Case(
                    dimension, size: size, program: program, directory: directory, backendPort: backend.port,
                    connections: connections, on: loop))
        }
        defer { for one in cases { one.stop() } }
        var isGood = true
        for call in cases[0].calls.indices {
            var costs = [[Double]](repeating: [], count: cases.count)
            for round in 0..<rounds {
                say("round \(round + 1): \(cases[0].calls[call].name)")
                // Each goes first in its turn.
                for offset in cases.indices {
                    let place = (round + offset) % cases.count
                    costs[place].append(try await cases[place].measure(call, for: .seconds(Int64(seconds))))
                }
            }
            // What a round has in common with nothing but itself falls out of its own ratio.
            let growth = zip(costs[0], costs[costs.count - 1]).map { $1 / $0 - 1 }.median
            let cells = zip(dimension.sizes, costs).map { size, costs in
                "\(dimension.text(of: size)): "
                    + String(format: "%.1f (%.1f–%.1f)", costs.median, costs.min() ?? 0, costs.max() ?? 0)
            }
            isGood = isGood && growth <= Self.aim
            print(
                "| \(dimension.name) | \(cases[0].calls[call].name) | \(cells.joined(separator: ", ")) |",
                String(format: "%+.1f %%%@ |", growth * 100, growth <= Self.aim ? "" : " MISSED"))
        }
        return isGood
    }

    private func say(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
}
