import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of the reuse of connections.
@Suite(.timeLimit(.minutes(1)))
struct KeptConnectionTests {
    @Test("A connection is kept and reused") func aConnectionIsKeptAndReused() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            for _ in 0..<3 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(server.connections == 1)
            #expect(server.seen.map(\.number) == [1, 2, 3])
        }
    }

    @Test(
        "A connection that cannot be reused is closed",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "200 "),
            ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "200 "),
            ("HTTP/1.1 204 No Content\r\n\r\nX", "204 "),
            ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", "200 a"),
        ])
    func aConnectionThatCannotBeReusedIsClosed(_ answer: String, _ word: String) async throws {
        try await UpstreamFixture.run { _ in
            [.write(answer)]
        } _: { upstream, server in
            for _ in 0..<2 { #expect(await UpstreamFixture.send(upstream) == word) }
            #expect(server.connections == 2)
        }
    }

    @Test("A response before the complete request closes the connection")
    func aResponseBeforeTheCompleteRequestClosesTheConnection() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let connections = Atomic(0)
        // Reads the start of a request, responds, and leaves the rest unread.
        let server = try await ServerBootstrap(group: group)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.add(1, ordering: .relaxed)
                    try channel.pipeline.syncOperations.addHandler(HastyServer())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: port)), group: group)
        // The system accepts this request completely, so no byte is left.
        for (length, expected) in [(64 << 20, 1), (64 << 20, 2), (100, 3), (100, 3)] {
            let request = RecordedRequest(
                id: CallID(process: 1, number: 1), bytes: ByteBuffer(repeating: 0x61, count: length),
                isRetryable: false, deadline: .now() + .seconds(30))
            #expect(await upstream.exchange(request).word == "200 yes")
            #expect(connections.load(ordering: .relaxed) == expected)
        }
        await upstream.shutdown()
        try await server.close()
        try await group.shutdownGracefully()
    }

    private final class HastyServer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelActive(context: ChannelHandlerContext) { context.read() }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.channel.writeAndFlush(ByteBuffer(string: UpstreamFixture.ok), promise: nil)
            // Bytes after a short request belong to the next one.
            if unwrapInboundIn(data).readableBytes == 100 { context.read() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    @Test("Bytes on an idle connection close it") func bytesOnAnIdleConnectionCloseIt() async throws {
        let mayFollow = Signal()
        let late = ScriptedServer.ok("forged")
        try await UpstreamFixture.run { seen in
            seen.connection == 1
                ? [.write(UpstreamFixture.ok), .wait(mayFollow), .write(late)] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            mayFollow.raise()
            await server.wait { $0.closed == 1 }
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(server.connections == 2)
        }
    }

    @Test("A send uses no connection that was idle for long")
    func aSendUsesNoConnectionThatWasIdleForLong() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumIdleTimeForNonRetryable = .nanoseconds(0)
        } _: {
            upstream, server in
            for _ in 0..<2 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(server.seen.map(\.connection) == [1, 2])
            // A retryable request uses any connection, the most recently used first.
            #expect(await UpstreamFixture.send(upstream, retryable: true) == "200 yes")
            #expect(server.seen.map(\.connection) == [1, 2, 2])
        }
    }

    @Test("A full pool closes an old connection to open a new one")
    func aFullPoolClosesAnOldConnectionToOpenANewOne() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumIdleTimeForNonRetryable = .nanoseconds(0)
            $0.maximumConnections = 1
        } _: { upstream, server in
            for _ in 0..<3 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(server.connections == 3)
        }
    }

    @Test("An idle connection is closed after its idle time")
    func anIdleConnectionIsClosedAfterItsIdleTime() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } configure: {
            $0.idleTimeout = .milliseconds(1)
        } _: {
            upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            await server.wait { $0.closed == 1 }
        }
    }

    @Test("A closed connection is replaced") func aClosedConnectionIsReplaced() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ScriptedServer.start { seen in
            seen.connection == 1 ? [.write(UpstreamFixture.ok), .closeOutput] : [.write(UpstreamFixture.ok)]
        }
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port)), group: group)
        #expect(await UpstreamFixture.send(upstream) == "200 yes")
        // A send on a closed connection is not repeated, so the test waits until the client has closed it too. The pool
        // removes the connection in the same tick of its event loop.
        await server.wait { $0.closed == 1 }
        #expect(await upstream.statistics().open == 0)
        #expect(await UpstreamFixture.send(upstream) == "200 yes")
        #expect(server.seen.map(\.connection) == [1, 2])
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }
}
