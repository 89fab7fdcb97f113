import ArgumentParser
import BenchmarkSupport
import Foundation
import NIOCore
import NIOPosix

@main
struct Overload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overload",
        abstract: "What becomes of sends while twice as many come as the gateway can carry out, and afterwards.",
        discussion: "Example: overload --program .build/release/notify-gateway --seconds 20")

    @Option(help: "The gateway.") var program = GatewayProcess.builtProgram
    @Option(help: "How long the overload lasts, in seconds.") var seconds = 60.0
    @Option(help: "How long each step lasts by which the peak is looked for, in seconds.") var stepSeconds = 3.0
    @Option(help: "How many clients there are.") var connections = 8_000
    @Option(help: "The gateway's event loops; it has one processor to itself.") var loops = 1
    @Option(help: "How many calls the gateway admits at a time; its default unless given.") var calls: Int?
    @Option(help: "How long the backend takes for a call, in milliseconds.") var backendTime = 0
    @Option(help: "How many connections the gateway has to the backend; its default unless given.")
    var backendConnections: Int?
    @Option(help: "What the gateway logs: info, warning, error.") var logLevel = "warning"
    @Option(help: "A disk for the journal.") var directory = "/var/tmp"

    func validate() throws {
        guard seconds > 0, stepSeconds > 0 else { throw ValidationError("a time must be more than 0") }
        guard (1...9_000).contains(connections) else { throw ValidationError("--connections takes 1 to 9000") }
        guard (0...1_000).contains(backendTime) else { throw ValidationError("--backend-time takes 0 to 1000") }
        guard (1...64).contains(loops) else { throw ValidationError("--loops takes 1 to 64") }
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
            ("the best rate", best, 10), ("half of it", best / 2, 5), ("twice of it", best * 2, seconds),
            ("half of it", best / 2, 10), ("the best rate", best, 10),
        ]
        let before = gateway.processorTime
        let tallies = try await sender.run(plan.map { .init(rate: $0.rate, seconds: $0.seconds) })
        let used = (gateway.processorTime - before).inSeconds
        print(Report.header)
        for (part, tally) in zip(plan, tallies) { print(Report.line(part.name, tally, seconds: part.seconds)) }
        let peak = Double(tallies[0].carried + tallies[4].carried) / (plan[0].seconds + plan[4].seconds)
        print(String(format: "peak, before and after: %.0f calls carried out a second", peak))
        print(
            String(
                format: "the gateway computed for %.1f of %.0f s and has %d MiB", used,
                plan.reduce(0) { $0 + $1.seconds }, gateway.residentBytes >> 20))
        let start = plan[0].seconds + plan[1].seconds
        let end = start + seconds
        let isGood = Report.judge(
            tallies[2], during: start..<end, tallies[3], until: end + plan[3].seconds, peak: peak)
        gateway.stop()
        try await backend.stop()
        try await group.shutdownGracefully()
        if !isGood { throw ExitCode(1) }
    }

    /// The most that was carried out at any rate: first as many as a few clients get who wait for each answer, then more and more.
    ///
    /// The best of many short looks, and so of the machine's best moments: what is to be expected is looked at for longer, before the
    /// overload and after it.
    private func findBestRate(_ sender: Sender) async throws -> Double {
        var rate = try await sender.closedRate(seconds: stepSeconds) * 0.6
        var best = 0.0
        var worse = 0
        while worse < 3 {
            let tally = try await sender.run([.init(rate: rate, seconds: stepSeconds)])[0]
            let goodput = Double(tally.carried) / stepSeconds
            print(String(format: "  %7.0f/s offered: %7.0f/s carried out", rate, goodput))
            worse = goodput > best * 1.02 ? 0 : worse + 1
            best = max(best, goodput)
            rate *= 1.1
        }
        return best
    }
}
