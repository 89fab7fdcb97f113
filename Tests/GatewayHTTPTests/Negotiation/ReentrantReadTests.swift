import Gateway
import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of bytes that arrive while one handler replaces another: if a write fails, NIO reads the rest of the socket
/// before the write returns.
@Suite struct ReentrantReadTests {
    typealias Frame = FrameClient.Frame

    /// Reads the next piece within a flush, as NIO does with a socket whose other end is closed.
    private final class ReadingFlush: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private var pieces: [[UInt8]]
        private let closes: Bool

        init(_ pieces: [[UInt8]], closes: Bool) {
            self.pieces = pieces
            self.closes = closes
        }

        func flush(context: ChannelHandlerContext) {
            context.flush()
            while !pieces.isEmpty { context.fireChannelRead(NIOAny(ByteBuffer(bytes: pieces.removeFirst()))) }
            if closes { context.close(promise: nil) }
        }
    }

    /// Sends the first piece. The others arrive within the first flush after it.
    private func send(
        _ first: [UInt8], then pieces: [[UInt8]], closes: Bool, on connection: EmbeddedHTTP2Connection
    ) throws {
        try connection.channel.pipeline.syncOperations.addHandler(
            ReadingFlush(pieces, closes: closes), position: .first)
        _ = try? connection.channel.writeInbound(ByteBuffer(bytes: first))
        connection.loop.run()
    }

    private func text(writtenOn connection: EmbeddedHTTP2Connection) throws -> String {
        var text = ""
        while let bytes = try connection.channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    private static func get(_ path: String) -> [UInt8] { Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8) }

    @Test(
        "Invalid frames within the flush of GOAWAY do not add a second HTTP/2 handler",
        arguments: [true, false])
    func invalidFramesWithinTheFlushOfGOAWAYDoNotAddASecondHTTP2Handler(_ closes: Bool) throws {
        let connection = try EmbeddedHTTP2Connection()
        let rest = [UInt8](repeating: 0xFF, count: 2048)
        try send(FrameClient.preface + rest, then: [rest, rest], closes: closes, on: connection)
        #expect(!connection.isOpen)
    }

    @Test("Frames that are read within a flush are processed after earlier ones")
    func framesThatAreReadWithinAFlushAreProcessedAfterEarlierOnes() throws {
        let connection = try EmbeddedHTTP2Connection()
        let (one, two, three) = (
            Frame.headers(1, HTTP2Fixture.get("/1")).bytes, Frame.headers(3, HTTP2Fixture.get("/3")).bytes,
            Frame.headers(5, HTTP2Fixture.get("/5")).bytes
        )
        try send(
            FrameClient.preface + Frame.settings.bytes + one + two.prefix(12), then: [two.dropFirst(12) + three],
            closes: false, on: connection)
        let statuses = try connection.written().filter { $0.hasPrefix("200") }
        #expect(statuses == ["200 on 1", "200 on 3", "200 on 5"])
    }

    @Test("An HTTP/1.1 request that is read within the flush of a response is served")
    func anHTTP11RequestThatIsReadWithinTheFlushOfAResponseIsServed() throws {
        let connection = try EmbeddedHTTP2Connection()
        try send(Self.get("/1"), then: [Self.get("/2"), Self.get("/3")], closes: false, on: connection)
        let text = try text(writtenOn: connection)
        for path in ["/1", "/2", "/3"] { #expect(text.contains("\r\n\r\n\(path)"), "\(path)") }
    }

    @Test("A request that is read while a PROXY header is processed is served")
    func aRequestThatIsReadWhileAPROXYHeaderIsProcessedIsServed() throws {
        let connection = try EmbeddedHTTP2Connection { configuration in
            configuration.supportsHTTP2 = false
            configuration.trustedProxies = TrustedProxies(
                proxies: [AddressRange("127.0.0.1")].compactMap(\.self), source: .proxyProtocol)
        }
        let header = Array("PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n".utf8)
        try send(header + Self.get("/1"), then: [Self.get("/2")], closes: false, on: connection)
        let text = try text(writtenOn: connection)
        for path in ["/1", "/2"] { #expect(text.contains("\r\n\r\n\(path)"), "\(path)") }
    }

    @Test("A connection that closes while its bytes are passed on is removed")
    func aConnectionThatClosesWhileItsBytesArePassedOnIsRemoved() throws {
        let connection = try EmbeddedHTTP2Connection()
        try send(
            FrameClient.preface + Frame.settings.bytes + Frame.headers(1, HTTP2Fixture.get("/1")).bytes,
            then: [Frame.headers(3, HTTP2Fixture.get("/3")).bytes], closes: true, on: connection)
        #expect(!connection.isOpen)
        #expect(connection.shared.statistics.connections == 0)
    }
}
