import Foundation
import Logging
import ServiceLifecycle
import Synchronization
import Testing

@testable import NotifyBackend

/// The backend on a socket.
@Suite struct EmbeddedBackendTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Runs a backend while `body` uses its port, then shuts it down gracefully and waits for its end.
    private func withBackend(
        _ flavor: BackendFlavor = .classic,
        hub: NotificationHub = BackendFixture.makeHub(),
        onRequest: (@Sendable (RequestSummary) -> Void)? = nil,
        _ body: (_ port: Int, _ stop: () async -> Void) async throws -> Void
    ) async throws {
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let backend = EmbeddedBackend(
            flavor: flavor,
            hub: hub,
            port: 0,
            logger: Self.quiet,
            onListening: { listening.yield($0) },
            onRequest: onRequest
        )
        let group = ServiceGroup(configuration: .init(services: [backend], logger: Self.quiet))
        let running = Task { try await group.run() }
        let port = try #require(await ports.first { _ in true })
        #expect(port > 0)
        do {
            try await body(port) { await group.triggerGracefulShutdown() }
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running.value
    }

    @Test("The backend serves create, update, send and delete", arguments: BackendFlavor.allCases)
    func theBackendServesCreateUpdateSendAndDelete(_ flavor: BackendFlavor) async throws {
        try await withBackend(flavor) { port, _ in
            let connection = try await RawConnection(port: port)
            let bench = BackendFixture(flavor)
            let bob = BackendFixture.basic("bob:bob")
            let reserved = try await connection.call("POST", "/api/register?handle=H", authorization: bob)
            #expect(reserved.status == 200)
            let id = reserved.body.filter { $0 != "\"" }
            let body = "{\"Platform\":\"\(bench.google)\",\"Handle\":\"H\",\"Tags\":[]}"
            let put = try await connection.call("PUT", bench.target(id: id), authorization: bob, body: body)
            #expect(put.status == 200 && put.body.isEmpty)
            let target = "/api/notifications?pns=\(bench.google)&to_tag=bob"
            let send = try await connection.call("POST", target, body: "\"hi\"")
            #expect(send.status == 200 && send.body.isEmpty)
            let inbox = try await connection.call("GET", "/inbox/H", authorization: nil)
            #expect(inbox.body.contains("From alice: hi"))
            #expect(try await connection.call("DELETE", bench.target(id: id)).status == 200)
            let list = try await connection.call("GET", "/registrations", authorization: nil)
            #expect(list.body == "[]")
        }
    }

    @Test("The inspection endpoints return JSON") func theInspectionEndpointsReturnJSON() async throws {
        let hub = BackendFixture.makeHub()
        try hub.upsert(id: "1", platform: "wns", handle: "https://a.example/?t=%2b&x", tags: ["username:bob", "t"])
        try hub.send("<a>\"é\\</a>", pns: "wns", to: "username:bob")
        try await withBackend(hub: hub) { port, _ in
            let connection = try await RawConnection(port: port)
            let list = try await connection.call("GET", "/registrations")
            let rest = "\"id\":\"1\",\"platform\":\"wns\",\"tags\":[\"username:bob\",\"t\"]}]"
            #expect(
                list.body
                    == "[{\"handle\":\"https://a.example/?t=%2b&x\"," + rest
            )
            let escaped = "https%3A%2F%2Fa.example%2F%3Ft%3D%252b%26x"
            let expected =
                "[{\"at\":\"2023-11-14T22:13:20.000Z\",\"payload\":\"<a>\\\"é\\\\</a>\",\"pns\":\"wns\","
                + "\"registration\":\"1\",\"sequence\":1,\"tags-matched\":[\"username:bob\"]}]"
            #expect(try await connection.call("GET", "/inbox/" + escaped).body == expected)
            #expect(try await connection.call("GET", "/inbox?handle=" + escaped).body == expected)
            #expect(try await connection.call("GET", "/inbox/unknown").body == "[]")
            for target in ["/inbox", "/inbox/", "/inbox?x=1"] {
                #expect(try await connection.call("GET", target).status == 404)
            }
            let other = try await connection.call("DELETE", "/registrations")
            #expect(other.status == 405 && other.head.lowercased().contains("allow: get"))
        }
    }

    @Test("An inbox streams its notifications live") func anInboxStreamsItsNotificationsLive() async throws {
        let hub = BackendFixture.makeHub()
        try hub.upsert(id: "1", platform: "gcm", handle: "H", tags: ["a"])
        try hub.send("first", pns: "gcm", to: "a")
        try await withBackend(hub: hub) { port, stop in
            let connection = try await RawConnection(port: port)
            try await connection.send("GET /inbox/H HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
            let start = try await connection.read { $0.contains("first") && $0.hasSuffix("\n\n\r\n") }
            #expect(start.lowercased().contains("content-type: text/event-stream"))
            #expect(start.contains("event: notification\nid: 1\ndata: {\"at\":"))
            #expect(hub.subscriberCount == 1)
            try hub.send("second", pns: "gcm", to: "a")
            #expect(try await connection.read { $0.hasSuffix("\n\n\r\n") }.contains("id: 2\ndata: {"))
            hub.sendHeartbeats()
            #expect(try await connection.read { $0.hasSuffix("\n\n\r\n") }.contains(": heartbeat\n\n"))
            // A graceful shutdown ends the stream and does not wait for it.
            await stop()
            #expect(try await connection.readEnd().hasSuffix("0\r\n\r\n"))
        }
        #expect(hub.subscriberCount == 0)
    }

    @Test("A stream ends when its client disconnects") func aStreamEndsWhenItsClientDisconnects() async throws {
        let hub = BackendFixture.makeHub()
        try await withBackend(hub: hub) { port, _ in
            var leaving: RawConnection? = try await RawConnection(port: port)
            try await leaving?.send("GET /inbox/H HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\n\r\n")
            _ = try await leaving?.read { $0.contains(": inbox") }
            #expect(hub.subscriberCount == 1)
            leaving = nil
            let other = try await RawConnection(port: port)
            // The heartbeats are fewer than a stream may lag behind, so the stream ends only because its client
            // disconnected.
            for _ in 0..<100 where hub.subscriberCount > 0 {
                hub.sendHeartbeats()
                _ = try await other.call("GET", "/registrations")
            }
            #expect(hub.subscriberCount == 0)
        }
    }

    @Test("A stream above the limit gets 503") func aStreamAboveTheLimitGets503() async throws {
        let hub = BackendFixture.makeHub(limits: HubLimits(subscribers: 1))
        let open = try #require(hub.subscribe(toHandle: "H"))
        try await withBackend(hub: hub) { port, _ in
            let connection = try await RawConnection(port: port)
            let refused = try await connection.call("GET", "/inbox/H", headers: ["Accept: text/event-stream"])
            #expect(refused.status == 503)
            #expect(try await connection.call("GET", "/inbox/H").status == 200)
        }
        withExtendedLifetime(open) {}
    }

    @Test("A request is reported before its response") func aRequestIsReportedBeforeItsResponse() async throws {
        let seen = Mutex<[RequestSummary]>([])
        let note: @Sendable (RequestSummary) -> Void = { summary in seen.withLock { $0.append(summary) } }
        try await withBackend(onRequest: note) { port, _ in
            let connection = try await RawConnection(port: port)
            _ = try await connection.call(
                "POST",
                "/API/register?handle=%41",
                authorization: BackendFixture.basic("eve:wrong")
            )
            _ = try await connection.call("GET", "/nothing", authorization: nil)
            _ = try await connection.call("GET", "/registrations")
        }
        #expect(
            seen.withLock { $0 } == [
                RequestSummary(method: "POST", target: "/API/register?handle=%41", user: "eve"),
                RequestSummary(method: "GET", target: "/nothing", user: nil),
            ]
        )
    }

    @Test("A response to HEAD has no body", arguments: BackendFlavor.allCases)
    func aResponseToHEADHasNoBody(_ flavor: BackendFlavor) async throws {
        try await withBackend(flavor) { port, _ in
            let connection = try await RawConnection(port: port)
            let head = "HEAD /api/register HTTP/1.1\r\nHost: h\r\nAuthorization: \(BackendFixture.basic("a:a"))\r\n\r\n"
            try await connection.send(head + head.replacing("HEAD", with: "GET"))
            let both = try await connection.read { $0.components(separatedBy: "HTTP/1.1 405").count == 3 }
            let (_, next) = try #require(RawConnection.split(both))
            #expect(next.hasPrefix("HTTP/1.1 405"))
        }
    }

    @Test("The length of a request body is bounded") func boundsBodies() async throws {
        try await withBackend { port, _ in
            let limit = BackendResponder.maximumBody
            let target = "/api/notifications?pns=gcm&to_tag=bob"
            let fits = "\"" + String(repeating: "x", count: limit - 2) + "\""
            // The body is accepted, but the payload exceeds the hub's limit.
            #expect(try await RawConnection(port: port).call("POST", target, body: fits).status == 500)
            let chunked = try await RawConnection(port: port)
            try await chunked.send(
                "POST \(target) HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + String(limit + 1, radix: 16) + "\r\n" + String(repeating: "x", count: limit + 1)
            )
            let refused = try await chunked.response()
            #expect(refused.status == 413)
            // The rest of the body is discarded, and the connection stays usable.
            try await chunked.send("\r\n0\r\n\r\n")
            #expect(try await chunked.call("GET", "/registrations").status == 200)
        }
    }

    @Test(
        "An address other than loopback is rejected",
        arguments: ["0.0.0.0", "::", "192.0.2.1", "example.org", "", "127.0.0.1.example.org"])
    func anAddressOtherThanLoopbackIsRejected(_ host: String) async throws {
        let backend = EmbeddedBackend(flavor: .classic, host: host, port: 0, logger: Self.quiet)
        await #expect(throws: EmbeddedBackendError.notLoopback(host: host, port: 0)) { try await backend.run() }
    }

    @Test("An invalid port is rejected", arguments: [-1, 65536, Int.max])
    func anInvalidPortIsRejected(_ port: Int) async throws {
        let backend = EmbeddedBackend(flavor: .classic, port: port, logger: Self.quiet)
        await #expect(throws: EmbeddedBackendError.self) { try await backend.run() }
    }

    @Test("The backend serves on a Unix socket until it is cancelled")
    func theBackendServesOnAUnixSocketUntilItIsCancelled() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "nb-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "s").path
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let backend = EmbeddedBackend(
            flavor: .core,
            hub: BackendFixture.makeHub(),
            socketPath: path,
            logger: Self.quiet,
            onListening: { listening.yield($0) }
        )
        let running = Task { try await backend.run() }
        #expect(await ports.first { _ in true } == 0)
        let connection = try await RawConnection(socketPath: path)
        #expect(try await connection.call("POST", "/api/register").status == 200)
        running.cancel()
        try await running.value
    }
}
