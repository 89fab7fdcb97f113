import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of clients that send faster than they are served, or that do not read their responses.
@Suite struct BackPressureTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    /// Counts the reads that reach the socket.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var reads = 0

        func read(context: ChannelHandlerContext) {
            reads += 1
            context.read()
        }
    }

    @Test("The socket is not read while a call is in progress and bytes are buffered")
    func theSocketIsNotReadWhileACallIsInProgressAndBytesAreBuffered() throws {
        let gate = Gate()
        let connection = try EmbeddedConnection(
            ClosureResponder { _ in
                await gate.pass()
                return Response(status: 200)
            })
        let counter = ReadCounter()
        try connection.channel.pipeline.syncOperations.addHandler(counter, position: .first)
        try connection.send(Self.get)
        // One read passes so that the end of the connection is detected.
        connection.channel.read()
        #expect(counter.reads == 1)
        try connection.send(Self.get)
        connection.channel.read()
        connection.channel.read()
        #expect(counter.reads == 1)
        gate.open()
        connection.loop.run()
        // The second call is in progress and no byte is buffered, so the deferred read happens once.
        #expect(counter.reads == 2)
        gate.open()
        connection.loop.run()
        #expect(try connection.answers().count == 2)
        #expect(counter.reads == 2)
    }

    /// Runs a listener whose responses are larger than the buffers of the sockets, and sends one request.
    private func unreadResponse(
        memory: Int, _ body: (RawConnection, ConnectionLimit) async throws -> Void
    ) async throws {
        let text = [UInt8](repeating: 0x78, count: 16 << 20)
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.connections.requestMemory = memory
        let limit = ConnectionLimit(configuration.connections)
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = try await Listener.start(
            configuration: configuration, serving: ClosureResponder { _ in Response(status: 200, body: text) },
            group: group, connectionLimit: limit)
        do {
            let client = try await RawConnection.connect(to: listener.localAddress, group: group)
            try await client.channel.setOption(.autoRead, value: false).get()
            try await client.send(Self.get)
            try await body(client, limit)
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    private static func holds(_ condition: () -> Bool) async -> Bool {
        await Task.yield()
        return condition()
    }

    @Test("A response counts while the client does not read it", .timeLimit(.minutes(1)))
    func aResponseCountsWhileTheClientDoesNotReadIt() async throws {
        try await unreadResponse(memory: 8 << 30) { client, limit in
            try await retry { await Self.holds { limit.requestMemory.bytes > 0 } }
            try await client.channel.setOption(.autoRead, value: true).get()
            try await retry { await Self.holds { limit.requestMemory.bytes == 0 } }
            client.channel.close(promise: nil)
            #expect(limit.requestMemory.refused.value == 0)
        }
    }

    @Test("A connection whose client does not read a response is closed without memory for it", .timeLimit(.minutes(1)))
    func aConnectionWhoseClientDoesNotReadAResponseIsClosedWithoutMemoryForIt() async throws {
        try await unreadResponse(memory: 64 << 20) { client, limit in
            try await retry { await Self.holds { limit.requestMemory.refused.value == 1 } }
            try await client.channel.setOption(.autoRead, value: true).get()
            #expect(await client.receiveToEnd().utf8.count < 16 << 20)
            #expect(limit.requestMemory.bytes == 0)
        }
    }

    @Test("No request is served while the client does not read its responses")
    func noRequestIsServedWhileTheClientDoesNotReadItsResponses() throws {
        let connection = try EmbeddedConnection()
        let counter = ReadCounter()
        try connection.channel.pipeline.syncOperations.addHandler(counter, position: .first)
        connection.channel.isWritable = false
        try connection.send(Self.get + Self.get)
        connection.channel.read()
        #expect(try connection.answers() == [])
        #expect(counter.reads == 0)
        connection.channel.isWritable = true
        connection.channel.pipeline.fireChannelWritabilityChanged()
        #expect(try connection.answers() == ["200 /a", "200 /a"])
        #expect(counter.reads == 1)
    }

    @Test("A client that never reads its responses is disconnected")
    func aClientThatNeverReadsItsResponsesIsDisconnected() throws {
        let connection = try EmbeddedConnection()
        connection.channel.isWritable = false
        try connection.send(Self.get)
        connection.loop.advanceTime(by: .minutes(2))
        #expect(!connection.isOpen)
    }
}
