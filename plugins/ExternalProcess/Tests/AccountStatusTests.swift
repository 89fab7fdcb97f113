import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import Testing

@testable import ExternalProcess

@Suite("Account status with external-process")
struct AccountStatusTests {
    private static let sales = GroupName("sales")!  // A valid name.

    @Test("A query is one frame, and each status of the protocol has its meaning")
    func statuses() throws {
        let bench = PoolFixture(requiresStatus: true)
        defer { bench.finish() }
        for (number, (members, status)) in [
            (#""status":"valid","groups":["sales","no group!"]"#, AccountStatus.valid(groups: [Self.sales])),
            (#""status":"valid""#, .valid(groups: [])), (#""status":"absent""#, .ended(.wrong)),
            (#""status":"expired","groups":["sales"]"#, .ended(.expired)), (#""status":"disabled""#, .ended(.disabled)),
            (#""status":"unavailable""#, .unknown(.failed)),
            (#""status":"unavailable","reason":"busy","later":{}"#, .unknown(.busy)),
        ].enumerated() {
            let query = try bench.submitStatus(of: "al\"ice")
            if number == 0 {
                try bench.say(PoolFixture.secondHello)
                _ = try bench.channels[0].readOutbound(as: ByteBuffer.self)
            }
            #expect(
                try bench.sent() == [#"{"type":"status","id":"\#(query.id)","user":"al\"ice","timeout-ms":5000}"#])
            try bench.say(#"{"type":"status","id":"\#(query.id)",\#(members)}"#)
            #expect(query.reply == .status(status))
        }
        #expect(bench.attempts == 1)
    }

    @Test(
        "Anything but the expected report closes the connection, and the status is unknown",
        arguments: [
            #"{"type":"status","id":"00000000000000000000000000000000","status":"absent"}"#,
            #"{"type":"status","status":"absent"}"#, #"{"type":"status","id":1,"status":"absent"}"#,
            #"{"type":"status","id":"ID"}"#, #"{"type":"status","id":"ID","status":"Absent"}"#,
            #"{"type":"status","id":"ID","status":"ended"}"#, #"{"type":"status","id":"ID","status":true}"#,
            #"{"type":"status","id":"ID","status":["absent"]}"#,
            #"{"type":"status","id":"ID","status":"valid","status":"absent"}"#,
            #"{"type":"status","id":"ID","status":"valid","Status":"absent"}"#,
            #"{"type":"status","id":"ID","status":"valid","groups":"sales"}"#,
            #"{"type":"status","id":"ID","status":"valid","groups":[1]}"#,
            #"{"type":"verdict","id":"ID","verdict":"rejected"}"#,
            #"{"type":"verdict","id":"ID","status":"absent"}"#, "[]", "absent", "{", "{}{}", "\u{0}",
        ])
    func garbage(_ frame: String) throws {
        let bench = PoolFixture(requiresStatus: true)
        defer { bench.finish() }
        let query = try bench.submitStatus()
        try bench.say(PoolFixture.secondHello)
        try bench.say(frame.replacing("ID", with: query.id))
        #expect(query.reply == .unavailable(.failed))
        #expect(!bench.channels[0].isActive)
    }

    @Test("A report does not complete a login")
    func reportOnLogin() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let login = try bench.submit()
        try bench.say(PoolFixture.secondHello)
        try bench.say(#"{"type":"status","id":"\#(login.id)","status":"valid"}"#)
        #expect(login.reply == .unavailable(.failed))
    }

    @Test("A process of version 1 gets no query, and keeps its connection")
    func firstVersion() throws {
        let bench = PoolFixture(requiresStatus: true)
        defer { bench.finish() }
        let query = try bench.submitStatus()
        try bench.say(PoolFixture.hello)
        #expect(query.reply == .unavailable(.failed))
        #expect(try bench.sent().count == 1)
        #expect(try bench.submitStatus().reply == .unavailable(.failed))
        #expect(bench.attempts == 1)
    }

    @Test("A query without a report in time is unknown, and so is one beyond the queue")
    func late() throws {
        let bench = PoolFixture(queue: 2, requiresStatus: true)
        defer { bench.finish() }
        let queries = try (0..<3).map { _ in try bench.submitStatus() }
        #expect(queries.map(\.reply) == [nil, nil, .unavailable(.busy)])
        try bench.say(PoolFixture.secondHello)
        bench.loop.advanceTime(by: .seconds(5))
        #expect(queries.map(\.reply) == [.unavailable(.timedOut), .unavailable(.unreachable), .unavailable(.busy)])
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "A query encodes any name as JSON that reads back",
        arguments: TestData.naughtyStrings + ["\"\\\n\u{7F}", "\u{0}"])
    func naughty(_ text: String) throws {
        guard let request = StatusRequest(LoginName(text)) else {
            #expect(text.isEmpty || text.utf8.count > 1024)
            return
        }
        let frame = request.frame(timeLeft: .seconds(5))
        let object = try Frame.decodeObject(ByteBuffer(bytes: frame.readableBytesView.dropFirst(4)))
        #expect(object["user"]?.string?.unicodeScalars.elementsEqual(text.unicodeScalars) == true)
        #expect(object["id"]?.string == request.id)
    }

    /// Runs the closure with an authenticator whose process has the hello and the script.
    private func withProcess(
        hello: String = ScriptedProcess.secondHello, timeout: Duration = .seconds(60),
        _ script: @escaping @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move],
        _ body: (any AccountAuthenticator, ScriptedProcess) async throws -> Void
    ) async throws {
        let directory = try TestFiles()
        let process = try await ScriptedProcess.start(at: directory.socket, hello: hello, script)
        try directory.setMode(0o600, of: "socket")
        let settings = ExternalProcessPlugin.Settings(
            socket: directory.socket, delegation: .init(timeout: timeout, connections: 1), reportsStatus: true)
        let made = try await ExternalProcessPlugin.makeAuthenticator(settings, context: .test())
        try await body(try #require(made as? any AccountAuthenticator), process)
        await process.stop()
    }

    private static func answer(_ seen: ScriptedProcess.Seen) -> [ScriptedProcess.Move] {
        seen.text("type") == "status"
            ? [ScriptedProcess.status(on: seen, #""status":"disabled""#)]
            : [ScriptedProcess.verdict(on: seen, #""verdict":"accepted","user":"alice""#)]
    }

    @Test("Logins and queries reach the process, and a name that is too long does not")
    func both() async throws {
        try await withProcess(Self.answer) { authenticator, process in
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            #expect(await authenticator.status(of: LoginName("alice@example.com")) == .ended(.disabled))
            #expect(process.requests.last?.text("user") == "alice@example.com")
            let long = LoginName(String(repeating: "a", count: 1025))
            #expect(await authenticator.status(of: long) == .ended(.wrong))
            #expect(await authenticator.status(of: LoginName("")) == .ended(.wrong))
            #expect(process.requests.count == 2)
        }
    }

    @Test("A process of version 1 verifies logins as before, and the status is unknown")
    func firstVersionLogins() async throws {
        try await withProcess(hello: ScriptedProcess.hello, Self.answer) { authenticator, process in
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.failed))
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            #expect(process.requests.map { $0.text("type") } == ["request"])
        }
    }

    @Test("Queries that the process never reports on delay no login")
    func slow() async throws {
        let isAsked = AwaitableValue(false)
        let script: @Sendable (ScriptedProcess.Seen) -> [ScriptedProcess.Move] = { seen in
            guard seen.text("type") == "status" else { return Self.answer(seen) }
            isAsked.withLock { $0 = true }
            return []
        }
        try await withProcess(script) { authenticator, process in
            // One connection for each purpose: without a connection of its own, the login would wait for a minute.
            let query = Task { await authenticator.status(of: LoginName("alice")) }
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            #expect(await authenticator.login("alice", "good") == identity("alice"))
            await isAsked.wait { $0 }
            await process.stop()
            #expect(await query.value == .unknown(.failed))
        }
    }

    @Test("Without a process the status is unknown")
    func down() async throws {
        try await withProcess(Self.answer) { authenticator, process in
            await process.stop()
            #expect(await authenticator.status(of: LoginName("alice")) == .unknown(.unreachable))
        }
    }
}
