import ArgumentParser
import BenchmarkSupport
import Foundation
import NIOCore
import NIOPosix

@main
struct Overload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload",
        abstract: "Measure sends during an overload of twice the gateway's capacity, and the recovery.",
        discussion: "Example: overload --program .build/release/notify-gateway --seconds 20")

    @Option(help: "The gateway's program.") var program = GatewayProcess.builtProgram
    @Option(help: "The duration of the overload in seconds.") var seconds = 60.0
    @Option(help: "The duration of each step of the search for the best rate, in seconds.") var stepSeconds = 3.0
    @Option(help: "The number of clients.") var connections = 8_000
    @Option(help: "The gateway's event loops; the gateway has one processor exclusively.") var loops = 1
    @Option(help: "The gateway's maximum of calls in flight; the gateway's default if omitted.") var calls: Int?
    @Option(help: "The backend's time for a call in milliseconds.") var backendTime = 0
    @Option(help: "The gateway's connections to the backend; the gateway's default if omitted.")
    var backendConnections: Int?
    @Option(help: "The gateway's log level: info, warning, error.") var logLevel = "warning"
    @Option(help: "A directory on the disk for the journal.") var directory = "/var/tmp"

    func validate() throws {
        guard seconds > 0, stepSeconds > 0 else {
            throw ValidationError("--seconds and --step-seconds need a value above 0")
        }
        guard (1...9_000).contains(connections) else {
            throw ValidationError("--connections needs a value from 1 to 9000")
        }
        guard (0...1_000).contains(backendTime) else {
            throw ValidationError("--backend-time needs a value from 0 to 1000")
        }
        guard (1...64).contains(loops) else { throw ValidationError("--loops needs a value from 1 to 64") }
    }

    func run() async throws {
        let home = try TemporaryDirectory(in: directory)
        let backend = try await FixedBackend(answersAfter: .milliseconds(Int64(backendTime)))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try Processor.leaveTheFirst()
        var setup = GatewaySetup(directory: home.path, backendPort: backend.port)
        setup.loops = loops
        setup.logLevel = logLevel
        setup.backendConnections = backendConnections
        if let calls { setup.overload += ", calls: \(calls)" }
        let token = try setup.tokens(of: ["alice"])[0]
        let gateway = try GatewayProcess(program, setup, processors: Processor.first)
        let sender = try await Sender(
            connections, port: gateway.port, request: CallBytes.send("Bearer \(token)"), on: group.next())

        let best = try await findBestRate(sender)
        let plan: [(name: String, rate: Double, seconds: Double)] = [
            ("the best rate", best, 10), ("half the best rate", best / 2, 5),
            ("twice the best rate", best * 2, seconds),
            ("half the best rate", best / 2, 10), ("the best rate", best, 10),
        ]
        let before = gateway.processorTime
        let tallies = try await sender.run(plan.map { .init(rate: $0.rate, seconds: $0.seconds) })
        let used = (gateway.processorTime - before).inSeconds
        print(Report.header)
        for (part, tally) in zip(plan, tallies) { print(Report.line(part.name, tally, seconds: part.seconds)) }
        let peak = Double(tallies[0].carried + tallies[4].carried) / (plan[0].seconds + plan[4].seconds)
        print(String(format: "peak, before and after: %.0f calls/s", peak))
        print(
            String(
                format: "the gateway used %.1f s of processor time in %.0f s and has %d MiB", used,
                plan.reduce(0) { $0 + $1.seconds }, gateway.residentBytes >> 20))
        let start = plan[0].seconds + plan[1].seconds
        let end = start + seconds
        let isGood = Report.printAims(
            tallies[2], during: start..<end, tallies[3], until: end + plan[3].seconds, peak: peak)
        gateway.stop()
        try await backend.stop()
        try await group.shutdownGracefully()
        if !isGood { throw ExitCode(1) }
    }

    /// Returns the highest goodput at any offered rate. The search begins with the closed-loop rate of a few clients
    /// and raises it.
    ///
    /// The result is the best of many short measurements, so it overestimates the sustained rate. The parts of the plan
    /// before and after the overload measure that for longer.
    private func findBestRate(_ sender: Sender) async throws -> Double {
        var rate = try await sender.closedRate(seconds: stepSeconds) * 0.6
        var best = 0.0
        var worse = 0
        while worse < 3 {
            let tally = try await sender.run([.init(rate: rate, seconds: stepSeconds)])[0]
            let goodput = Double(tally.carried) / stepSeconds
            print(String(format: "  %7.0f/s offered: %7.0f/s carried", rate, goodput))
            worse = goodput > best * 1.02 ? 0 : worse + 1
            best = max(best, goodput)
            rate *= 1.1
        }
        return best
    }
}
