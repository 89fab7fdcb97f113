import Foundation
import GatewayCore
import GatewayHTTP
import GatewaySupport
import GatewayTesting
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayConfiguration
@testable import GatewayOperations

extension ControlSocketTests {
    @Test("An operation goes on when its peer disconnects, and keeps its slot until it ends")
    func peerDisconnects() async throws {
        let held = Held()
        var settings = ControlSettings()
        settings.connections = 1
        try await serving([held, Echo()], settings: settings) { () async throws in
            let connection = try await RawConnection.connect(to: SocketAddress(unixDomainSocketPath: path))
            try await connection.send(Self.request("POST /v1/backups", body: #"{"target":"/copy"}"#))
            await held.begun.wait()
            try await connection.channel.close()
            let busy = ControlError.unavailable("Too many requests are in progress.")
            #expect(try await OperatorClient(path: path).perform(Echo.request()) { _ in } == busy)
            held.release.raise()
            await held.ended.wait()
            var error: ControlError? = busy
            while error == busy { error = try await OperatorClient(path: path).perform(Echo.request()) { _ in } }
            #expect(error == nil)
        }
    }

    @Test("A peer that does not read is disconnected, its operation fails, and others are served")
    func doesNotRead() async throws {
        let echo = Echo()
        var settings = ControlSettings()
        (settings.connections, settings.write) = (1, .milliseconds(50))
        try await serving([echo], settings: settings) { () async throws in
            let connection = try await RawConnection.connect(to: SocketAddress(unixDomainSocketPath: path))
            try await connection.channel.setOption(.autoRead, value: false).get()
            let text = String(repeating: "x", count: 20_000)
            try await connection.send(
                Self.request("POST /v1/registrations/import", body: #"{"file":"\#(text)","purge":true}"#))
            await echo.ended.wait()
            var error: ControlError? = .unavailable("Too many requests are in progress.")
            while error != nil { error = try await OperatorClient(path: path).perform(Echo.request()) { _ in } }
            try? await connection.channel.close()
        }
    }

    @Test(
        "A request that is not acceptable gets a problem document, and others are served",
        arguments: [
            ("nonsense\r\n\r\n", 400), ("\u{0}", 400), ("GET / HTTP/1.1\r\n", 400), ("", 400),
            ("GET /v1/bans HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "y", count: 20_000))\r\n\r\n", 431),
            (
                "POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 32769\r\n\r\n\(String(repeating: "z", count: 32_769))",
                413
            ),
            ("POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nx", 400),
            ("GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404), ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404),
            ("PATCH /v1/bans HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            ("GET /v1/registrations/1-2-3 HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            ("POST /v1/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 400),
            ("POST /v1/backups HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 415),
        ])
    func rejected(text: String, status: Int) async throws {
        try await serving { () async throws in
            let response = try await raw(Array(text.utf8))
            #expect(response.hasPrefix("HTTP/1.1 \(status) "), "\(response)")
            #expect(response.contains("\r\nContent-Type: application/problem+json\r\n"), "\(response)")
            #expect(response.contains(#""status":\#(status),"detail":""#), "\(response)")
            #expect(try await items(Echo.request()).count == 2)
        }
    }

    @Test("A change that cannot be recorded gets 503, and is not made")
    func unrecorded() async throws {
        let journal = MemoryJournal()
        journal.fail(JournalUnavailable("the disk is full"))
        try await serving([Recorded()], journal: journal) { () async throws in
            let response = try await raw("POST /v1/reload")
            #expect(response.hasPrefix("HTTP/1.1 503 "), "\(response)")
            #expect(
                response.contains("Nothing was changed, because the change could not be recorded: the disk is full"))
            #expect(journal.records.isEmpty)
        }
    }

    @Test("Input after the request is not a request")
    func pipelined() async throws {
        try await serving([Recorded()]) { () async throws in
            let request = Self.request("POST /v1/reload")
            let response = try await raw(Array((request + request).utf8))
            #expect(response.components(separatedBy: "HTTP/1.1 200").count == 2, "\(response)")
        }
    }

    @Test("A gateway that stops rejects incomplete requests and completes operations in progress")
    func stop() async throws {
        let held = Held()
        let server = try await open([held])
        let early = try await RawConnection.connect(to: SocketAddress(unixDomainSocketPath: path))
        try await early.send("GET /v1")
        async let answer = OperatorClient(path: path).perform(Held.request) { _ in }
        await held.begun.wait()
        async let stopped: Void = server.stop()
        #expect(await early.receiveToEnd().hasPrefix("HTTP/1.1 503 "))
        held.release.raise()
        #expect(try await answer == nil)
        await stopped
    }

    @Test("An operation that does not end delays the shutdown only up to the limit")
    func stopWithoutEnd() async throws {
        let held = Held()
        var settings = ControlSettings()
        settings.stop = .milliseconds(20)
        let server = try await open([held], settings: settings)
        let answer = Task { [path] in try await OperatorClient(path: path).perform(Held.request) { _ in } }
        await held.begun.wait()
        await server.stop()
        await #expect(throws: OperatorClientError.incompleteResponse) { try await answer.value }
        held.release.raise()
    }

    @Test("The client reports whether the gateway does not run, is silent or closed the connection")
    func clientFaults() async throws {
        let request = Held.request
        func ask(_ path: String, maximumWait: TimeAmount = .seconds(60)) async throws {
            _ = try await OperatorClient(path: path, maximumWait: maximumWait).perform(request) { _ in }
        }
        await #expect(throws: OperatorClientError.noGateway(path: path)) { try await ask(path) }
        try files.write("", to: "file")
        await #expect(throws: OperatorClientError.noGateway(path: "\(files.path)/file")) {
            try await ask("\(files.path)/file")
        }
        let held = Held()
        try await serving([held]) { () async throws in
            await #expect(throws: OperatorClientError.timedOut) { try await ask(path, maximumWait: .milliseconds(20)) }
            held.release.raise()
            let long = ControlRequest(Held.name, [.init("target", .string(String(repeating: "x", count: 40_000)))])
            await #expect(throws: OperatorClientError.tooLong) {
                try await OperatorClient(path: path).perform(long) { _ in }
            }
        }
        for nonsense in [
            "", "{}\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n{",
            "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", "HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n",
        ] {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { child in
                    child.writeAndFlush(ByteBuffer(string: nonsense)).whenComplete { _ in child.close(promise: nil) }
                    return child.eventLoop.makeSucceededVoidFuture()
                }
                .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            await #expect(throws: OperatorClientError.incompleteResponse, "\(nonsense)") { try await ask(path) }
            try await channel.close()
        }
    }
}
