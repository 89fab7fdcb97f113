import Gateway
import NIOCore
import NIOEmbedded
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
