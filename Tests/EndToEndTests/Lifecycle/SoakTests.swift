import Foundation
import GatewayTesting
import Synchronization
import Testing

@Suite(
    "Resources over a long time, and too few of them",
    .disabled(if: TestRun.isSanitized, "a sanitizer takes memory and time of its own"))
struct SoakTests {
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    /// What a process has of memory and descriptors.
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

    /// A backend that fails each fiftieth request in one of four ways: status, broken answer, broken connection, nonsense.
    private static func faulty() -> @Sendable (String) -> ScriptedServer.Reaction {
        let count = Atomic(0)
        return { _ in
            switch count.add(1, ordering: .relaxed).newValue % 200 {
            case 50: .answer("HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
            case 100: .breakOff("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            case 150: .breakOff("")
            case 0: .breakOff("no HTTP at all\r\n\r\n")
            default: .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            }
        }
    }

    @Test("Memory and descriptors stay where they are, with 2 % of the calls failing at the backend")
    func growth() async throws {
        let total = TestRun.count(full: 1_000_000, otherwise: 20_000)
        let directory = try TestFiles()
        try await ScriptedServer.run(Self.faulty()) { backend in
            try configure(directory, backend: backend)
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
                // A short run has not filled what memory is kept for reuse.
                if TestRun.isFull { #expect(Double(growth) < Double(middle.resident) * 0.03, "\(growth) bytes") }
                // Those to the backend come and go.
                #expect(abs(end.descriptors - middle.descriptors) <= workers)
            }
        }
    }

    @Test("With 256 descriptors it neither crashes nor spins, and serves again within a second")
    func descriptors() async throws {
        let directory = try TestFiles()
        try await ScriptedServer.run { _ in
            .answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        } _: { backend in
            try configure(directory, backend: backend)
            let token = try IssuedTokens.alice(by: directory)
            let request = RawClient.request("POST", Self.send, token: token, body: #""hello""#)
            _ = try await ServedProgram.run(in: directory, descriptors: 256) { gateway in
                let (port, process) = (gateway.port, gateway.processIdentifier)
                let recovery = try await TestRun.measure(below: .seconds(1)) {
                    try await Blocking.run {
                        // More than there are descriptors, from addresses enough that the cap of one is not what counts.
                        var held: [KeptConnection] = []
                        for number in 0..<400 {
                            held.append(try KeptConnection(port: port, from: "127.0.0.\(2 + number % 8)"))
                        }
                        let before = try Self.processorTime(of: process)
                        // The time over which it is measured.
                        Thread.sleep(forTimeInterval: 2)
                        let spent = try Self.processorTime(of: process) - before
                        // Of two seconds and as many cores as there are: a loop that spins takes one.
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

    /// Seconds of processor time that a process has used.
    private static func processorTime(of process: Int32) throws -> Double {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        return (Double(fields[11]) ?? 0) / 100 + (Double(fields[12]) ?? 0) / 100
    }
}
