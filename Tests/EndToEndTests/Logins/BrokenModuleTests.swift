import Foundation
import GatewayCore
import GatewayTesting
import HMACToken
import Testing

/// A gateway process with PAM modules that crash, hang or print, while other callers use tokens.
@Suite("PAM modules that fail", .enabled(if: SystemTools.compiler != nil, "there is no C compiler"))
struct BrokenModuleTests {
    private static let kinds = ["hang", "segfault", "exit", "print"]
    /// The number of logins of each kind. The full run has 1,000 logins of all kinds.
    private static let logins = TestRun.count(full: 250, otherwise: 15)
    /// The number of measurements without and with the failing logins.
    private static let turns = 5
    /// The interval between two logins of a kind. The logins are a load, but do not use all processors.
    private static let pace = Duration.milliseconds(200)

    /// Returns the configuration. Hanging modules have a deadline of 100 ms; the deadline of the others covers the
    /// start of their worker.
    private static func configuration(_ stack: PAMStack) -> String {
        let service = "service: \(PAMStack.service), service-directory: \(stack.path)"
        return """
            authenticators:
              - pam: { \(service), deadline: 100ms, users: ["hang-*"] }
              - pam: { \(service), deadline: 60s, users: ["segfault-*", "exit-*", "print-*"] }
              - \(IssuedTokens.configuration)
            authentication: { deadline: 60s }
            log: { level: notice }
            """
    }

    @Test(
        "A gateway whose PAM modules fail rejects their logins, leaks nothing and serves tokens meanwhile"
    )
    func survives() async throws {
        let stack = try PAMStack()
        try stack.useModule(auth: "by-name")
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        let token = try IssuedTokens.alice(by: directory)
        try directory.write(ConfiguredGateway.preamble + Self.configuration(stack), to: "gateway.yaml")
        let (_, status) = try await ServedProgram.run(in: directory) { gateway in
            let probe = TokenProbe(port: gateway.port, token: token)
            let steady = try KeptConnection(port: gateway.port)
            let whoami = RawClient.request("GET", "/auth/whoami", token: token)
            #expect(try steady.call(whoami).status == 200)
            // The first logins start threads and worker pools.
            _ = try await Self.attack(gateway.port, logins: 2)
            _ = try await probe.measure(for: .milliseconds(300))
            let before = try #require(Self.descriptorsButWorkers(of: gateway.observed))

            var turns: [(quiet: Latencies, meanwhile: Latencies)] = []
            var statuses: [String: [Int: Int]] = [:]
            // The two measurements alternate, so that other load on the machine affects both.
            var idle: [Double] = []
            for _ in 0..<Self.turns {
                let load = ProcessorLoad()
                let quiet = try await probe.measure(for: Self.pace * (Self.logins / Self.turns))
                idle.append(ProcessorLoad().idlePart(since: load))
                let isOver = Flag()
                async let calls = probe.measure { !isOver.isRaised }
                let outcome = try await Self.attack(gateway.port, logins: Self.logins / Self.turns)
                isOver.raise()
                turns.append((quiet, try await calls))
                statuses.merge(outcome) { $0.merging($1, uniquingKeysWith: +) }
                // The call keeps the connection from being closed as idle.
                #expect(try steady.call(whoami).status == 200)
            }
            let leastIdle = idle.min() ?? 0
            let quiet = turns.map(\.quiet).reduce(Latencies([]), +)
            let meanwhile = turns.map(\.meanwhile).reduce(Latencies([]), +)
            print(
                "Tokens while \(Self.logins * Self.kinds.count) PAM logins failed: quiet \(quiet); "
                    + "meanwhile \(meanwhile); at least \(Int(leastIdle * 100)) % idle processors while quiet")

            #expect(statuses["hang"] == [503: Self.logins])
            #expect(statuses["segfault"] == [503: Self.logins])
            #expect(statuses["exit"] == [503: Self.logins])
            #expect(statuses["print"] == [401: Self.logins])
            if TestRun.isFull && leastIdle > 0.5 {
                #expect(meanwhile.percentile(99) <= quiet.percentile(99) * 1.1)
            } else {
                // The slowest hundredth is a few calls of a turn, and other load on the machine may cause them.
                let slow = turns.count { turn in
                    turn.meanwhile.percentile(99) > turn.quiet.percentile(99) * 1.1 + .milliseconds(50)
                }
                #expect(slow <= Self.turns / 2, "\(turns)")
            }

            // The process and the connection are the same as before.
            #expect(try steady.call(whoami).status == 200)
            #expect(gateway.observed.zombies == [])
            // The gateway notices closed connections between calls, so the first count may contain closed ones.
            func areLeft() -> Bool { Self.descriptorsButWorkers(of: gateway.observed).map { $0 > before } ?? true }
            for _ in 0..<1000 where areLeft() { _ = try steady.call(whoami) }
            #expect(!areLeft())
        }
        #expect(status == 0)
        #expect(stack.remainingProcesses() == 0)
    }

    /// Returns the open descriptors without the socket of each idle worker.
    private static func descriptorsButWorkers(of process: ObservedProcess) -> Int? {
        process.descriptors.map { $0 - process.children.count }
    }

    /// Starts the logins of each kind at the pace, and returns the number of responses by kind and status.
    private static func attack(_ port: Int, logins: Int) async throws -> [String: [Int: Int]] {
        try await withThrowingTaskGroup(of: (String, Int).self) { group in
            let start = ContinuousClock.now
            for (offset, kind) in kinds.enumerated() {
                for number in 0..<logins {
                    // The kinds start a quarter of the interval apart.
                    let time = start + pace * number + pace * offset / kinds.count
                    group.addTask {
                        try await Task.sleep(until: time)
                        // Separate addresses and users keep the login throttle from applying.
                        let source = "127.\(UInt8.random(in: 1...254)).\(UInt8.random(in: 0...254)).\(1 + offset)"
                        let user = "\(kind)-\(UInt64.random(in: .min ... .max))"
                        let client = try RawClient(port: port, from: source)
                        return (kind, try await client.call("GET", "/auth/whoami", as: user).status)
                    }
                }
            }
            var statuses: [String: [Int: Int]] = [:]
            for try await (kind, status) in group { statuses[kind, default: [:]][status, default: 0] += 1 }
            return statuses
        }
    }
}
