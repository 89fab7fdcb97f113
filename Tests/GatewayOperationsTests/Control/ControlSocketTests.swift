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

@Suite("Control socket")
struct ControlSocketTests {
    private let files: TestFiles
    private var path: String { "\(files.path)/control.sock" }

    init() throws { files = try TestFiles() }

    private func open(
        _ operations: [any ControlOperation] = [Echo()], at path: String? = nil, settings: ControlSettings = .init()
    ) async throws -> ControlServer {
        try await ControlServer.open(
            path: path ?? self.path, operations: .test(operations), group: .singleton,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, settings: settings)
    }

    /// Runs the body with a listening control socket, and stops the server afterwards.
    private func serving<Result>(
        _ operations: [any ControlOperation] = [Echo()], settings: ControlSettings = .init(),
        _ body: () async throws -> Result
    ) async throws -> Result {
        let server = try await open(operations, settings: settings)
        do {
            let result = try await body()
            await server.stop()
            return result
        } catch {
            await server.stop()
            throw error
        }
    }

    private func items(_ request: ControlRequest) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        let fault = try await ControlClient(path: path).perform(request) { items.append($0) }
        #expect(fault == nil)
        return items
    }

    @Test("A response contains all items in order")
    func answer() async throws {
        try await serving { () async throws in
            let text = String(repeating: "ä\n\u{0}", count: 500)
            let request = ControlRequest("echo", [.init("text", .string(text)), .init("times", .number("1000"))])
            #expect(try await items(request) == [JSONValue](repeating: .string(text), count: 1000))
            #expect(try await items(ControlRequest("echo")) == [.string("")])
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
        #expect(try await items(ControlRequest("echo")).count == 1)
        await server.stop()

        close(try UnixSocketFile.make(path: path, mode: 0o600).descriptor)
        #expect(try files.names() == ["control.sock"])
        let second = try await open()
        #expect(try await items(ControlRequest("echo")).count == 1)
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
            async let first = ControlClient(path: path).perform(ControlRequest("held")) { _ in }
            await held.begun.wait()
            let busy = ControlError.unavailable("Too many commands are in progress.")
            for _ in 0..<20 {
                #expect(try await ControlClient(path: path).perform(ControlRequest("echo")) { _ in } == busy)
            }
            held.release.raise()
            #expect(try await first == nil)
            var fault = try await ControlClient(path: path).perform(ControlRequest("echo")) { _ in }
            while fault == busy { fault = try await ControlClient(path: path).perform(ControlRequest("echo")) { _ in } }
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

    @Test("A peer that sends without end is disconnected, and others are served")
    func flood() async throws {
        try await serving { () async throws in
            let received = try await raw([UInt8](repeating: UInt8(ascii: "{"), count: 1 << 20))
            #expect(received.hasPrefix(#"{"end":"malformed""#))
            #expect(try await items(ControlRequest("echo")).count == 1)
        }
    }

    @Test(
        "A malformed line affects no other connection",
        arguments: ["\n", "\u{0}\n", "{}\n", "GET / HTTP/1.1\r\n\r\n", "{"])
    func nonsense(text: String) async throws {
        try await serving { () async throws in
            #expect(try await raw(Array(text.utf8)).hasPrefix(#"{"end":"malformed""#))
            #expect(try await items(ControlRequest("echo")).count == 1)
        }
    }

    @Test("A stream whose peer has disconnected is cancelled even if nothing is sent")
    func goneFromStream() async throws {
        let ticks = Ticks()
        try await serving([ticks, Echo()]) { () async throws in
            struct Enough: Error {}
            await #expect(throws: Enough.self) {
                try await ControlClient(path: path).perform(ControlRequest("ticks"), isStream: true) { _ in
                    throw Enough()
                }
            }
            await ticks.cancelled.wait()
            #expect(try await items(ControlRequest("echo")).count == 1)
        }
    }

    @Test("A gateway that stops ends streams and completes operations in progress")
    func stop() async throws {
        let (ticks, held) = (Ticks(), Held())
        let server = try await open([ticks, held])
        let began = Signal()
        async let stream = ControlClient(path: path).perform(ControlRequest("ticks"), isStream: true) { _ in
            began.raise()
        }
        async let answer = ControlClient(path: path).perform(ControlRequest("held")) { _ in }
        await began.wait()
        await held.begun.wait()
        async let stopped: Void = server.stop()
        #expect(try await stream == nil)
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
        let answer = Task { [path] in try await ControlClient(path: path).perform(ControlRequest("held")) { _ in } }
        await held.begun.wait()
        await server.stop()
        await #expect(throws: ControlClientError.incompleteResponse) { try await answer.value }
        held.release.raise()
    }

    @Test("The client reports whether the gateway does not run, is silent or closed the connection")
    func clientFaults() async throws {
        let request = ControlRequest("held")
        func ask(_ path: String, maximumWait: TimeAmount = .seconds(60)) async throws {
            _ = try await ControlClient(path: path, maximumWait: maximumWait).perform(request) { _ in }
        }
        await #expect(throws: ControlClientError.noGateway(path: path)) { try await ask(path) }
        try files.write("", to: "file")
        await #expect(throws: ControlClientError.noGateway(path: "\(files.path)/file")) {
            try await ask("\(files.path)/file")
        }
        let held = Held()
        try await serving([held]) { () async throws in
            await #expect(throws: ControlClientError.timedOut) { try await ask(path, maximumWait: .milliseconds(20)) }
            held.release.raise()
            let long = ControlRequest("held", [.init("x", .string(String(repeating: "x", count: 40_000)))])
            await #expect(throws: ControlClientError.tooLong) {
                try await ControlClient(path: path).perform(long) { _ in }
            }
        }
        for nonsense in ["", "{}\n", "{\"end\":\"perhaps\"}\n", "{\"item\":1}\n", "{\"end\":\"done\"}"] {
            let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .childChannelInitializer { child in
                    child.writeAndFlush(ByteBuffer(string: nonsense)).whenComplete { _ in child.close(promise: nil) }
                    return child.eventLoop.makeSucceededVoidFuture()
                }
                .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
            await #expect(throws: ControlClientError.incompleteResponse, "\(nonsense)") { try await ask(path) }
            try await channel.close()
        }
    }

    /// Sends bytes, closes its side, and returns everything that arrives.
    private func raw(_ bytes: [UInt8]) async throws -> String {
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
