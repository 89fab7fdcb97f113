import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("Start and stop under a service manager")
struct ShutdownTests {
    private let directory: TestFiles
    private static let send = "/api/notifications?pns=apns&to_tag=bob"

    init() throws { directory = try .ofGateway() }

    private func configure(_ backend: String, grace: String = "200ms") throws {
        try directory.configure(
            """
            listen: [{ address: "unix:\(directory.path)/public.sock" }]
            admin: { address: "unix:\(directory.path)/admin.sock" }
            backend: { url: "\(backend)" }
            limits: []
            drain: { grace: \(grace) }
            """)
    }

    private var client: RawClient { get throws { try RawClient(socket: "\(directory.path)/public.sock") } }
    private var admin: RawClient { get throws { try RawClient(socket: "\(directory.path)/admin.sock") } }

    private func ready() async throws -> Int {
        try await admin.send("GET /health/ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").status
    }

    @Test(
        "A gateway that receives SIGTERM is not ready, serves during the grace period and completes each call in flight"
    )
    func drain() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await PausedBackend.run {
            arrival.yield()
        } whileServing: { backend in
            try configure("http://127.0.0.1:\(backend.port)", grace: "2s")
            let manager = try NotifySocket(in: directory.path)
            let gateway = try ManagedProgram.start(
                in: directory, environment: ["NOTIFY_SOCKET": manager.path])
            #expect(try await manager.next(with: "READY")["READY"] == "1")
            #expect(try await ready() == 200)
            let calls = 20
            try await withThrowingTaskGroup(of: RawClient.Response.self) { tasks in
                for number in 0..<calls {
                    tasks.addTask { try await client.call("POST", Self.send, as: "alice", body: "\"\(number)\"") }
                }
                var seen = 0
                for await _ in arrivals {
                    seen += 1
                    if seen == calls { break }
                }
                gateway.signal(SIGTERM)
                #expect(try await manager.next()["STOPPING"] == "1")
                #expect(try await ready() == 503)
                // During the grace period new calls are served, and their connections close.
                let late = try await client.call("GET", "/auth/whoami", as: "bob")
                #expect(late.status == 200)
                #expect(late.field("Connection") == "close")
                // After the grace period the gateway accepts no connection.
                while let later = try? await client.call("GET", "/auth/whoami", as: "bob") {
                    #expect(later.status == 200)
                }
                // A slow backend is part of this test.
                if TestRun.isFull { try await Task.sleep(for: .seconds(30)) }
                backend.release()
                for try await response in tasks { #expect(response.status == 200) }
            }
            #expect(await gateway.status() == 0)
            let outcomes = try GatewayUnderTest.journal(in: directory).filter { $0["kind"] as? String == "outcome" }
            #expect(outcomes.count == calls)
            #expect(outcomes.allSatisfy { $0["result"] as? String == "accepted" })
        }
    }

    @Test("A second SIGTERM stops the gateway immediately, and interrupted calls have an unknown outcome")
    func secondSignal() async throws {
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        try await PausedBackend.run {
            arrival.yield()
        } whileServing: { backend in
            try configure("http://127.0.0.1:\(backend.port)", grace: "60s")
            let manager = try NotifySocket(in: directory.path)
            let gateway = try ManagedProgram.start(in: directory, environment: ["NOTIFY_SOCKET": manager.path])
            #expect(try await manager.next(with: "READY")["READY"] == "1")
            let client = try client
            let cut = Task { try await client.call("POST", Self.send, as: "alice", body: "\"cut\"") }
            for await _ in arrivals { break }
            gateway.signal(SIGTERM)
            #expect(try await manager.next()["STOPPING"] == "1")
            let start = ContinuousClock.now
            gateway.signal(SIGTERM)
            #expect(await gateway.status() == 0)
            #expect(ContinuousClock.now - start < .seconds(5))
            if case .success(let response) = await cut.result {
                Issue.record("the response has status \(response.status)")
            }
            let records = try GatewayUnderTest.journal(in: directory)
            #expect(records.last?["kind"] as? String == "checkpoint" || records.last?["kind"] as? String == "stop")
            let outcome = try #require(records.first { $0["kind"] as? String == "outcome" })
            #expect(outcome["result"] as? String == "unknown-at-stop")
        }
    }

    @Test("A restart loses no connection if the service manager keeps the socket")
    func socketActivation() async throws {
        try configure("http://127.0.0.1:9", grace: "100ms")
        let socket = try ListeningSocket(path: "\(directory.path)/public.sock")
        let manager = try NotifySocket(in: directory.path)
        let environment = ["NOTIFY_SOCKET": manager.path]
        var gateway = try ManagedProgram.start(in: directory, socket: socket.descriptor, environment: environment)
        #expect(try await manager.next(with: "READY")["READY"] == "1")
        let stop = Flag()
        let client = try client
        async let answered = withThrowingTaskGroup(of: Int.self) { tasks in
            for _ in 0..<4 {
                tasks.addTask {
                    var count = 0
                    while !stop.isRaised {
                        let status = try await client.call("GET", "/auth/whoami", as: "alice").status
                        #expect(status == 200)
                        count += 1
                    }
                    return count
                }
            }
            return try await tasks.reduce(0, +)
        }
        for _ in 0..<2 {
            gateway.signal(SIGTERM)
            #expect(await gateway.status() == 0)
            gateway = try ManagedProgram.start(in: directory, socket: socket.descriptor, environment: environment)
            _ = try await manager.next(with: "READY")
        }
        stop.raise()
        let count = try await answered
        #expect(count > 10)
        gateway.signal(SIGTERM)
        #expect(await gateway.status() == 0)
        // The socket file belongs to the service manager, so the gateway does not remove it.
        #expect(FileManager.default.fileExists(atPath: "\(directory.path)/public.sock"))
    }

    @Test("The gateway serves a socket from `systemd-socket-activate`")
    func systemdSocketActivate() async throws {
        let tool = "/usr/bin/systemd-socket-activate"
        guard FileManager.default.isExecutableFile(atPath: tool) else { return }
        try configure("http://127.0.0.1:9", grace: "0s")
        let process = Process()
        process.executableURL = URL(filePath: tool)
        let passedOn = TestRun.sanitizerOptions.keys.flatMap { ["-E", $0] }
        let command = [Program.path, "serve", "--config", "\(directory.path)/gateway.yaml"]
        process.arguments = passedOn + ["-l", "\(directory.path)/public.sock"] + command
        let log = Pipe()
        process.standardError = log
        let (ends, end) = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { end.yield($0.terminationStatus) }
        try process.run()
        defer { process.terminate() }
        // "Listening on … as 3." is the only line before the first connection.
        let lines = log.fileHandleForReading
        _ = try await Blocking.run { lines.availableData }
        #expect(try await client.call("GET", "/auth/whoami", as: "alice").status == 200)
        process.terminate()
        for await status in ends {
            #expect(status == 0)
            break
        }
    }

    @Test("The gateway rejects an inherited socket that no listener uses, and names its address")
    func surplusSocket() async throws {
        try configure("http://127.0.0.1:9")
        let socket = try ListeningSocket(path: "\(directory.path)/other.sock")
        let gateway = try ManagedProgram.start(in: directory, socket: socket.descriptor)
        #expect(await gateway.status() == 1)
        #expect(try directory.text(of: "log").contains("unix:\(directory.path)/other.sock"))
    }

    @Test("The gateway reports SIGHUP as a reload with its time, and notifies the watchdog until it stops")
    func notifications() async throws {
        try configure("http://127.0.0.1:9", grace: "0s")
        let manager = try NotifySocket(in: directory.path)
        let gateway = try ManagedProgram.start(
            in: directory, environment: ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "300000"])
        _ = try await manager.next(with: "READY")
        for _ in 0..<3 { #expect(try await manager.next(with: "WATCHDOG")["WATCHDOG"] == "1") }
        let before = Clocks.system.monotonic()
        try directory.write("version: 2", to: "gateway.yaml")
        gateway.signal(SIGHUP)
        let reloading = try await manager.next(with: "RELOADING")
        let time = try #require(reloading["MONOTONIC_USEC"].flatMap { Int($0) })
        #expect(time >= before.nanoseconds / 1000)
        _ = try await manager.next(with: "READY")
        gateway.signal(SIGTERM)
        _ = try await manager.next(with: "STOPPING")
        #expect(await gateway.status() == 0)
        #expect(try directory.text(of: "log").contains("is 2, but this program reads versions up to 1"))
    }

    @Test("A start asks for time until the gateway is ready, and a SIGHUP during it is a reload after it")
    func hangUpWhileStarting() async throws {
        try configure("http://127.0.0.1:9", grace: "0s")
        let manager = try NotifySocket(in: directory.path)
        let gateway = try ManagedProgram.start(in: directory, environment: ["NOTIFY_SOCKET": manager.path])
        #expect(try await manager.next()["EXTEND_TIMEOUT_USEC"] == "60000000")
        gateway.signal(SIGHUP)
        var next: [String: String]
        repeat { next = try await manager.next() } while next["EXTEND_TIMEOUT_USEC"] != nil
        #expect(next["READY"] == "1")
        _ = try await manager.next(with: "RELOADING")
        _ = try await manager.next(with: "READY")
        gateway.signal(SIGTERM)
        _ = try await manager.next(with: "STOPPING")
        #expect(await gateway.status() == 0)
        // The log is written after the notification, and is complete at the exit.
        #expect(try directory.text(of: "log").contains("Configuration reloaded"))
    }
}
