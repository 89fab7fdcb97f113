import AsyncHTTPClient
import Foundation
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOPosix
import OutboundHTTP
import OutboundTLS
import Synchronization
import Testing

@Suite("The HTTP client of one server")
struct HTTPClientTests {
    @Test("A connection that the server closes at once does not take the place of a later one")
    func closedAtOnce() async throws {
        let refusals = 1000
        let accepted = Atomic(0)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                let isRefused = accepted.add(1, ordering: .relaxed).newValue <= refusals
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Responder(isRefused: isRefused))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let url = "http://127.0.0.1:\(try #require(server.localAddress?.port))/"
        let client = HTTPClient.outbound(
            to: url, timeout: .init(connect: .seconds(30)), idleTime: .seconds(5), connections: 1)
        // On a busy machine a client may learn of the connection and its end at once.
        let isOver = Atomic(false)
        defer { isOver.store(true, ordering: .relaxed) }
        for _ in 0..<4 {
            Thread.detachNewThread { while !isOver.load(ordering: .relaxed) {} }
        }
        var waits: [HTTPClientError] = []
        var statuses: [HTTPResponseStatus] = []
        for _ in 0...refusals where waits.isEmpty {
            do {
                statuses.append(
                    try await client.execute(HTTPClientRequest(url: url), deadline: .now() + .seconds(60)).status)
            } catch let error as HTTPClientError {
                // A request that waits for a connection which no longer exists fails with one of these.
                if [.connectTimeout, .deadlineExceeded, .getConnectionFromPoolTimeout].contains(error) {
                    waits.append(error)
                }
            } catch {
                // The system reports to the write that the server has reset the connection.
            }
        }
        #expect(waits == [])
        #expect(statuses == [.ok])
        try await client.shutdown()
        try await group.shutdownGracefully()
    }

    @Test("The verification of a peer is complete when it returns")
    func synchronousVerification() throws {
        let channel = EmbeddedChannel()
        let isComplete = Atomic(false)
        ServerName("localhost").verifyPeer(of: channel).whenComplete { _ in isComplete.store(true, ordering: .relaxed) }
        let wasComplete = isComplete.load(ordering: .relaxed)
        #expect(wasComplete)
        _ = try channel.finish()
    }
}

/// Closes the connection at once, or responds 200 without a body.
private final class Responder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let isRefused: Bool

    init(isRefused: Bool) { self.isRefused = isRefused }

    func channelActive(context: ChannelHandlerContext) {
        if isRefused { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "0"])
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

@available(*, unavailable)
extension Responder: Sendable {}
