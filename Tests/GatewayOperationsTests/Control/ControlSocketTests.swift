import Foundation
import GatewayCore
import GatewayHTTP
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayConfiguration
@testable import GatewayOperations

@Suite("Control socket")
struct ControlSocketTests {
    let files: TestFiles
    var path: String { "\(files.path)/control.sock" }

    init() throws { files = try TestFiles() }

    func open(
        _ operations: [any ControlOperation] = [Echo()], at path: String? = nil, settings: ControlSettings = .init(),
        journal: any Journal = MemoryJournal()
    ) async throws -> ControlServer {
        try await ControlServer.open(
            path: path ?? self.path, operations: .test(operations, journal: journal),
            journal: JournalSource(directory: "\(files.path)/journal", followers: JournalFollowers()),
            group: .singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, settings: settings)
    }

    /// Runs the body with a listening control socket, and stops the server afterwards.
    func serving<Result>(
        _ operations: [any ControlOperation] = [Echo()], settings: ControlSettings = .init(),
        journal: any Journal = MemoryJournal(), _ body: () async throws -> Result
    ) async throws -> Result {
        let server = try await open(operations, settings: settings, journal: journal)
        do {
            let result = try await body()
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    func items(_ request: ControlRequest) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        let fault = try await OperatorClient(path: path).perform(request) { items.append($0) }
        #expect(fault == nil)
        return items
    }

    @Test("A response contains all items in order, then the totals, and then the failure if there is one")
    func answer() async throws {
        try await serving { () async throws in
            let text = String(repeating: "ä\n\u{0}", count: 500)
            let expected = [JSONValue](repeating: .string(text), count: 1000)
            #expect(try await items(Echo.request(text, times: true)) == expected + [.string("total")])
            #expect(try await items(Echo.request()) == [.string(""), .string("total")])
            var received: [JSONValue] = []
            let error = try await OperatorClient(path: path).perform(Echo.request("x", failing: true)) {
                received.append($0)
            }
            #expect(received == [.string("x")] && error == .unavailable("The disk is full."))
        }
    }

    @Test("A list arrives page by page, and an invalid page is rejected")
    func pages() async throws {
        try await serving([Numbers()]) { () async throws in
            #expect(try await items(ControlRequest("bans list")) == Numbers.all)
            let first = try await raw("GET /v1/bans?limit=2")
            #expect(
                first.hasPrefix("HTTP/1.1 200 OK\r\n") && first.contains(#"{"items":[0,1],"next":"Mg"}"#), "\(first)")
            let second = try await raw("GET /v1/bans?limit=1&cursor=Mg")
            #expect(second.contains(#"{"items":[2],"next":"Mw"}"#), "\(second)")
            // The cursor of position 2,499, after which one item is left, and one beyond the end.
            #expect(try await raw("GET /v1/bans?cursor=MjQ5OQ").contains(#"{"items":[2499]}"#))
            #expect(try await raw("GET /v1/bans?cursor=OTk5OQ").contains(#"{"items":[]}"#))
            for query in [
                "limit=0", "limit=1001", "limit=x", "limit=", "cursor=", "cursor=*", "cursor=LTE", "limit=1&limit=1",
                "user=alice", "limit=%", "=",
            ] {
                let response = try await raw("GET /v1/bans?\(query)")
                #expect(response.hasPrefix("HTTP/1.1 400 "), "\(query): \(response)")
            }
        }
    }

    @Test(
        "The control socket has mode 0600, its directory is created if missing, and it is removed at shutdown"
    )
    func file() async throws {
        let deep = "\(files.path)/run/gateway"
        let server = try await open(at: "\(deep)/control.sock")
        #expect(try files.mode(of: "run/gateway/control.sock") == 0o600)
        #expect(try files.mode(of: "run/gateway") == 0o700)
        await server.stop()
        #expect(try FileManager.default.contentsOfDirectory(atPath: deep) == [])
        await server.stop()
    }

    @Test("A socket in use stays, a stale socket is replaced, and a regular file stays")
    func taken() async throws {
        let server = try await open()
        await #expect(throws: ListenerError.inUse(path: path)) { try await open() }
        #expect(try await items(Echo.request()).count == 2)
        await server.stop()

        close(try UnixSocketFile.make(path: path, mode: 0o600).descriptor)
        #expect(try files.names() == ["control.sock"])
        let second = try await open()
        #expect(try await items(Echo.request()).count == 2)
        await second.stop()

        try files.write("mine", to: "control.sock")
        await #expect(throws: ListenerError.notASocket(path: path)) { try await open() }
        #expect(try files.text(of: "control.sock") == "mine")
    }

    @Test(
        "A directory that others can write to is rejected, with or without the sticky bit",
        arguments: [0o777, 0o775, 0o1777, 0o702])
    func directory(mode: Int) async throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: files.path)
        await #expect(throws: ControlError.self) { try await open() }
        #expect(ControlSocketPath.obstacle(inDirectoryOf: path)?.contains("is writable by other users") == true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: files.path)
        #expect(ControlSocketPath.obstacle(inDirectoryOf: path) == nil)
        try files.write("", to: "file")
        #expect(
            ControlSocketPath.obstacle(inDirectoryOf: "\(files.path)/file/x") == "\(files.path)/file is not a directory"
        )
    }

    @Test("A request without a free slot is rejected, and an operation that ends frees its slot")
    func manyConnections() async throws {
        let held = Held()
        var settings = ControlSettings()
        settings.connections = 1
        try await serving([held, Echo()], settings: settings) { () async throws in
            async let first = OperatorClient(path: path).perform(Held.request) { _ in }
            await held.begun.wait()
            let busy = ControlError.unavailable("Too many requests are in progress.")
            for _ in 0..<20 {
                #expect(try await OperatorClient(path: path).perform(Echo.request()) { _ in } == busy)
            }
            held.release.raise()
            #expect(try await first == nil)
            var fault = try await OperatorClient(path: path).perform(Echo.request()) { _ in }
            while fault == busy { fault = try await OperatorClient(path: path).perform(Echo.request()) { _ in } }
            #expect(fault == nil)
        }
    }

    @Test("Slots are counted by kind and held until the last release")
    func slots() throws {
        var settings = ControlSettings()
        (settings.connections, settings.rejectedConnections) = (2, 1)
        let slots = ControlSlots(settings)
        let channels = (0..<4).map { _ in EmbeddedChannel() }
        #expect(slots.acquire(channels[0], .served))
        #expect(slots.acquire(channels[1], .served))
        #expect(!slots.acquire(channels[2], .served))
        #expect(slots.acquire(channels[2], .rejected))
        #expect(!slots.acquire(channels[3], .rejected))
        slots.hold(channels[0])
        _ = try channels[0].finish()
        #expect(!slots.acquire(channels[3], .served))
        let promise = channels[0].eventLoop.makePromise(of: Void.self)
        slots.whenEmpty(promise)
        slots.release(channels[0])
        #expect(slots.acquire(channels[3], .served))
        for channel in channels.dropFirst() { _ = try channel.finish() }
        try promise.futureResult.wait()
    }

    static func request(_ line: String, body: String? = nil) -> String {
        let fields = body.map { "Content-Type: application/json\r\nContent-Length: \($0.utf8.count)\r\n" } ?? ""
        return "\(line) HTTP/1.1\r\nHost: gateway\r\n\(fields)\r\n\(body ?? "")"
    }

    /// Sends a request and returns the response.
    func raw(_ line: String, body: String? = nil) async throws -> String {
        try await raw(Array(Self.request(line, body: body).utf8))
    }

    /// Sends bytes, closes its side, and returns everything that arrives.
    func raw(_ bytes: [UInt8]) async throws -> String {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(unixDomainSocketPath: path) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                        wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var received = ByteBuffer()
            do {
                try await outbound.write(ByteBuffer(bytes: bytes))
                outbound.finish()
                for try await piece in inbound { received.writeImmutableBuffer(piece) }
            } catch is IOError {
                // The kernel resets a socket that is closed with unread bytes.
            } catch ChannelError.ioOnClosedChannel {}
            return String(buffer: received)
        }
    }
}
