import GatewaySupport
import GatewayTesting
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPTypes
import Testing

@testable import GatewayOperations

/// The handler that bounds a control connection, on a channel without a socket. The test controls its clock.
@Suite("Control connection")
struct ControlConnectionTests {
    private let channel: EmbeddedChannel

    init() throws { channel = try Self.open() }

    private static func open(rejection: OperatorProblem? = nil) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(
            handler: ControlConnection(
                rejection: rejection, settings: ControlSettings(), clocks: ManualClock().clocks))
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/control")).wait()
        return channel
    }

    private static let head = HTTPRequest(method: .post, scheme: "http", authority: "x", path: "/v1/reload")

    private func send(_ parts: HTTPRequestPart..., on other: EmbeddedChannel? = nil) throws {
        for part in parts { try (other ?? channel).writeInbound(part) }
    }

    private func received(on other: EmbeddedChannel? = nil) throws -> [HTTPRequestPart] {
        var parts: [HTTPRequestPart] = []
        while let part = try (other ?? channel).readInbound(as: HTTPRequestPart.self) { parts.append(part) }
        return parts
    }

    /// Returns the status and the body of the response that the handler itself wrote.
    private func response(on other: EmbeddedChannel? = nil) throws -> (status: Int, body: String)? {
        guard case .head(let head)? = try (other ?? channel).readOutbound(as: HTTPResponsePart.self) else { return nil }
        #expect(head.headerFields[.connection] == "close" && head.headerFields[.date] != nil)
        guard case .body(let body)? = try (other ?? channel).readOutbound(as: HTTPResponsePart.self),
            case .end? = try (other ?? channel).readOutbound(as: HTTPResponsePart.self)
        else { return nil }
        return (head.status.code, String(buffer: body))
    }

    @Test("Only a complete request is passed on, and the connection closes after the response")
    func complete() throws {
        try send(.head(Self.head), .body(ByteBuffer(string: "a")), .body(ByteBuffer(string: "b")))
        #expect(try received().isEmpty)
        try send(.end(nil))
        #expect(try received() == [.head(Self.head), .body(ByteBuffer(string: "ab")), .end(nil)])
        // Another request is discarded.
        try send(.head(Self.head), .end(nil))
        #expect(try received().isEmpty)
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        #expect(channel.isActive)
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(!channel.isActive)
    }

    @Test("The response to HEAD has no body")
    func head() throws {
        try send(.head(HTTPRequest(method: .head, scheme: "http", authority: "x", path: "/v1/bans")), .end(nil))
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .methodNotAllowed)))
        try channel.writeOutbound(HTTPResponsePart.body(ByteBuffer(string: "{}")))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        guard case .head? = try channel.readOutbound(as: HTTPResponsePart.self),
            case .end? = try channel.readOutbound(as: HTTPResponsePart.self)
        else {
            Issue.record("The response has other parts")
            return
        }
    }

    @Test("A peer that sends slowly gets a response at the deadline, and the connection closes")
    func slow() throws {
        try send(.head(Self.head))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(4999))
        #expect(try response() == nil)
        try send(.body(ByteBuffer(string: "a")))
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        let response = try #require(try response())
        #expect(response.status == 408 && response.body.contains("No request arrived in time."))
        try send(.end(nil))
        #expect(try received().isEmpty)
        // A socket would stay open for reading for a second more. A channel without a socket has no half to close.
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test("A body of the maximum length is passed on, and a longer one is rejected")
    func long() throws {
        let longest = ByteBuffer(repeating: 1, count: OperatorRoute.maximumBodyLength)
        try send(.head(Self.head), .body(longest), .end(nil))
        #expect(try received().count == 3)
        let other = try Self.open()
        try send(.head(Self.head), .body(longest), .body(ByteBuffer(string: "x")), .end(nil), on: other)
        #expect(try response(on: other)?.status == 413)
        #expect(try received(on: other).isEmpty)
    }

    @Test("An incomplete or invalid request is rejected")
    func invalid() throws {
        try send(.head(Self.head))
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(try response()?.status == 400)
        for (error, status) in [(HTTPParserError.headerOverflow, 431), (.invalidMethod, 400), (.invalidChunkSize, 400)]
        {
            let other = try Self.open()
            other.pipeline.fireErrorCaught(error)
            #expect(try response(on: other)?.status == status)
        }
    }

    @Test("A rejected peer gets its rejection once its request is complete, and after the deadline at the latest")
    func rejectedPeer() throws {
        let stranger = OperatorProblem(.notAnOperator, "You are uid 7.")
        let other = try Self.open(rejection: stranger)
        try send(.head(Self.head), on: other)
        #expect(try response(on: other) == nil)
        try send(.end(nil), on: other)
        let rejection = try #require(try response(on: other))
        #expect(rejection.status == 403 && rejection.body.contains("You are uid 7."))
        #expect(try received(on: other).isEmpty)
        // The handler discards what Hummingbird would write.
        #expect(throws: ChannelError.ioOnClosedChannel) {
            try other.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        }
    }

    @Test("A gateway that stops rejects an incomplete request and completes one in progress")
    func stopping() throws {
        channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop())
        #expect(try response()?.status == 503)
        let other = try Self.open()
        try send(.head(Self.head), .end(nil), on: other)
        other.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop())
        #expect(try response(on: other) == nil)
        try other.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .ok)))
        #expect(other.isActive)
    }

    @Test("A peer that does not read a part of the response for 30 seconds is disconnected")
    func doesNotRead() throws {
        try channel.pipeline.syncOperations.addHandler(FullSocket(), position: .first)
        try send(.head(Self.head), .end(nil))
        channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .ok)), promise: nil)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(29_999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!channel.isActive)
    }

    /// A handler that completes a write only when the connection closes.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = HTTPResponsePart

        private var held: [EventLoopPromise<Void>] = []

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { held.append(promise) }
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            for promise in held { promise.fail(ChannelError.ioOnClosedChannel) }
            context.close(mode: mode, promise: promise)
        }
    }
}
