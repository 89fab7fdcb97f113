import ArgumentParser
import BenchmarkSupport
import Foundation
import NIOCore
import NIOPosix

@main
struct Scaling: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scaling",
        abstract: "Measure whether the cost of a call grows with users, registrations, limiter keys, or records.",
        discussion: "Example: scaling --program .build/release/notify-gateway --only users --rounds 3")

    private static let dimensions: [any Dimension] = [Users(), Registrations(), LimiterKeys(), JournalSize()]
    /// The highest allowed growth of the cost from the smallest to the largest size.
    private static let aim = 0.10

    @Option(help: "The gateway's program.") var program = GatewayProcess.builtProgram
    @Option(help: "Measures only the dimensions whose names begin with this: users, registrations, limiter, journal.")
    var only: String?
    @Option(help: "The number of measurements of each size, in turn.") var rounds = 7
    @Option(help: "The duration of each measurement in seconds.") var seconds = 2
    @Option(help: "The number of concurrent clients.") var connections = 8
    @Option(help: "A directory on the disk for the files.") var directory = "/var/tmp"

    func validate() throws {
        guard (1...100).contains(rounds) else { throw ValidationError("--rounds needs a value from 1 to 100") }
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds needs a value from 1 to 600") }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections needs a value from 1 to 1000")
        }
        guard Self.dimensions.contains(where: isWanted) else {
            throw ValidationError("--only needs the beginning of users, registrations, limiter or journal")
        }
    }

    private func isWanted(_ dimension: any Dimension) -> Bool { only.map(dimension.name.hasPrefix) ?? true }

    func run() async throws {
        let backend = try await FixedBackend()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var isGood = true
        print("| dimension | call | CPU µs per call, from the smallest to the largest | growth |")
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
                // Each size goes first in turn.
                for offset in cases.indices {
                    let place = (round + offset) % cases.count
                    costs[place].append(try await cases[place].measure(call, for: .seconds(Int64(seconds))))
                }
            }
            // The ratio within a round cancels disturbances that affect the whole round.
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
