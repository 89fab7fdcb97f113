import Foundation
import GatewayTesting
import Synchronization
import Testing

@Suite(
    "Resource usage",
    .disabled(if: TestRun.isSanitized, "a sanitizer changes memory and time"))
struct SoakTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    /// The resident memory and the open descriptors of a process.
    private struct Holdings {
        let resident: Int
        let descriptors: Int

        init(of process: Int32) throws {
            let statm = try String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8).split(separator: " ")
            resident = (Int(statm[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        }
    }

    private func configure(_ directory: TestFiles, backend: Int) throws {
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        try directory.write(
            """
            listen: [{ address: "127.0.0.1:0" }]
            admin: { address: "127.0.0.1:0" }
            backend: { url: "http://127.0.0.1:\(backend)" }
            authenticators: [{ static-users: { file: users.yaml } }, { \(IssuedTokens.configuration) }]
            policy: { send: [{ from: "*", to: "*" }] }
            limits: []
            drain: { grace: 0s }
            log: { level: notice }
            journal: { directory: journal, minimum-free: 0, keep-size: 256MiB }
            ledger: { file: ledger.sqlite }
            """, to: "gateway.yaml")
    }

    /// Returns a script that fails each fiftieth request, in turn by status, truncated response, closed connection
    /// and invalid HTTP.
    private static func faulty() -> @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step] {
        let count = Atomic(0)
        return { _ in
            switch count.add(1, ordering: .relaxed).newValue % 200 {
            case 50: [.write(ScriptedServer.response("500 Internal Server Error"))]
            case 100: [.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), .close]
            case 150: [.close]
            case 0: [.write("no HTTP at all\r\n\r\n"), .close]
            default: [.write(ScriptedServer.ok(""))]
            }
        }
    }

    @Test("Memory and descriptors do not grow while 2 % of the calls fail at the backend")
    func growth() async throws {
        let total = TestRun.count(full: 1_000_000, otherwise: 20_000)
        let directory = try TestFiles()
        try await ScriptedServer.run(keepingRequests: false, Self.faulty()) { backend in
            try configure(directory, backend: backend.port)
            let token = try IssuedTokens.alice(by: directory)
            let request = RawClient.request("POST", Self.send, token: token, body: #""hello""#)
            _ = try await ServedProgram.run(in: directory) { gateway in
                let workers = 8
                func calls(_ count: Int) async throws -> (good: Int, bad: Int) {
                    try await withThrowingTaskGroup(of: (Int, Int).self) { tasks in
                        for _ in 0..<workers {
                            let port = gateway.port
                            tasks.addTask {
                                try await Blocking.run {
                                    let connection = try KeptConnection(port: port)
                                    var (good, bad) = (0, 0)
                                    for _ in 0..<count / workers {
                                        let status = try connection.call(request).status
                                        if status == 200 { good += 1 } else { bad += 1 }
                                    }
                                    return (good, bad)
                                }
                            }
                        }
                        return try await tasks.reduce(into: (good: 0, bad: 0)) {
                            $0.good += $1.0
                            $0.bad += $1.1
                        }
                    }
                }
                let first = try await calls(total / 2)
                let middle = try Holdings(of: gateway.processIdentifier)
                let second = try await calls(total / 2)
                let end = try Holdings(of: gateway.processIdentifier)
                let share = Double(first.bad + second.bad) / Double(first.good + first.bad + second.good + second.bad)
                #expect((0.015...0.025).contains(share), "\(share)")
                let growth = end.resident - middle.resident
                print(
                    "soak: \(total) calls, \(share) failed, \(middle.resident >> 10) KiB at half, grew by",
                    "\(growth >> 10) KiB, descriptors \(middle.descriptors) and \(end.descriptors)")
                #expect(growth < 8 << 20, "\(growth) bytes")
                // A short run does not yet fill the memory that is kept for reuse.
                if TestRun.isFull { #expect(Double(growth) < Double(middle.resident) * 0.03, "\(growth) bytes") }
                // The number of connections to the backend varies.
                #expect(abs(end.descriptors - middle.descriptors) <= workers)
            }
        }
    }

    @Test("A gateway that runs out of descriptors neither crashes nor spins, and serves again within a second")
    func descriptors() async throws {
        let directory = try TestFiles()
        try await ScriptedServer.run { _ in
            [.write(ScriptedServer.ok(""))]
        } _: { backend in
            try configure(directory, backend: backend.port)
            let token = try IssuedTokens.alice(by: directory)
            let request = RawClient.request("POST", Self.send, token: token, body: #""hello""#)
            _ = try await ServedProgram.run(in: directory, descriptors: 256) { gateway in
                let (port, process) = (gateway.port, gateway.processIdentifier)
                let recovery = try await TestRun.measure(below: .seconds(1)) {
                    try await Blocking.run {
                        // The connections exceed the descriptors. They come from several addresses, so that the limit
                        // per address does not apply.
                        var held: [KeptConnection] = []
                        for number in 0..<400 {
                            held.append(try KeptConnection(port: port, from: "127.0.0.\(2 + number % 8)"))
                        }
                        let before = try Self.processorTime(of: process)
                        // The sleep is the measured interval.
                        Thread.sleep(forTimeInterval: 2)
                        let spent = try Self.processorTime(of: process) - before
                        // An event loop that spins uses one second of processor time per second.
                        #expect(spent < 1.0, "\(spent) s")
                        held = []
                        let start = ContinuousClock.now
                        var status = 0
                        while status != 200, ContinuousClock.now - start < .seconds(5) {
                            status = (try? KeptConnection(port: port).call(request).status) ?? 0
                        }
                        #expect(status == 200)
                        return ContinuousClock.now - start
                    }
                }
                #expect(recovery < .seconds(1))
            }
        }
    }

    /// Returns the processor time of a process in seconds.
    private static func processorTime(of process: Int32) throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        return (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
    }
}
