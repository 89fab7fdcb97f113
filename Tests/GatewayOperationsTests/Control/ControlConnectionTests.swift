import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayOperations

/// A control connection on a channel without a socket. The test controls its clock.
@Suite("Control connection")
struct ControlConnectionTests {
    private struct Bench {
        let channel: NIOAsyncTestingChannel
        let slots = ControlSlots(ControlSettings())

        init(_ operations: [any ControlOperation]) async throws {
            channel = NIOAsyncTestingChannel()
            let (channel, slots, operations) = (channel, slots, ControlOperations.test(operations))
            #expect(slots.acquire(channel, .served))
            try await channel.testingEventLoop.submit {
                try channel.pipeline.syncOperations.addHandler(
                    ControlConnection(operatorID: 7, operations: operations, slots: slots, settings: .init()))
            }.get()
            try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/control"))
        }

        func send(_ text: String) async throws { try await channel.writeInbound(ByteBuffer(string: text)) }

        func pass(_ time: TimeAmount) async { await channel.testingEventLoop.advanceTime(by: time) }

        /// Returns the next line of the response.
        func line() async throws -> ControlResponse? {
            let bytes = try await channel.waitForOutboundWrite(as: ByteBuffer.self)
            return ControlResponse(line: Array(bytes.readableBytesView.dropLast()))
        }

        /// Returns when the connection is closed and its operation has ended.
        func ended() async throws {
            let promise = channel.eventLoop.makePromise(of: Void.self)
            slots.whenEmpty(promise)
            try await promise.futureResult.get()
            #expect(!channel.isActive)
        }
    }

    @Test("The items arrive in order, then the end, then the connection closes; input after the request is ignored")
    func answer() async throws {
        let bench = try await Bench([Echo()])
        try await bench.send(#"{"control":1,"operation":"echo","#)
        try await bench.send(#""arguments":{"text":"x","times":2}}"# + "\n")
        try await bench.send("{\"control\":1,\"operation\":\"echo\"}\n\u{0}")
        #expect(try await bench.line() == .item(.string("x")))
        #expect(try await bench.line() == .item(.string("x")))
        #expect(try await bench.line() == .done)
        try await bench.ended()
        #expect(try await bench.channel.readOutbound(as: ByteBuffer.self) == nil)
    }

    @Test("A malformed request gets a response, and the connection closes")
    func malformed() async throws {
        let tooLong = String(repeating: "x", count: ControlProtocol.maximumRequestLength + 1)
        let lines = ["\n", "GET / HTTP/1.1\r\n", "\u{0}\n", tooLong, "{\"control\":2}\n"]
        for line in lines {
            let bench = try await Bench([Echo()])
            try await bench.send(line)
            guard case .failed(let fault) = try await bench.line() else {
                Issue.record("\(line.prefix(20)) got another response")
                continue
            }
            #expect(fault.kind == .malformed)
            try await bench.ended()
        }
    }

    @Test("An unknown operation or argument is rejected before an operation runs")
    func unknown() async throws {
        for request in [
            ControlRequest("nothing"),
            ControlRequest("echo", [.init("TEXT", .string("x"))]),
            ControlRequest("echo", [.init("times", .string("2"))]),
            ControlRequest("echo", [.init("times", .number("-1"))]),
            ControlRequest("echo", [.init("times", .number("1e3"))]),
            ControlRequest("echo", [.init("text", .bool(true))]),
        ] {
            let bench = try await Bench([Echo()])
            try await bench.send(String(decoding: request.line, as: UTF8.self))
            guard case .failed(let fault) = try await bench.line() else {
                Issue.record("\(request) got another response")
                continue
            }
            #expect(fault.kind == .malformed)
            try await bench.ended()
        }
    }

    @Test("A peer that sends slowly gets a response at the deadline, and the connection closes")
    func slow() async throws {
        let bench = try await Bench([Echo()])
        try await bench.send("{")
        await bench.pass(.milliseconds(4999))
        #expect(bench.channel.isActive)
        try await bench.send(#""control""#)
        await bench.pass(.milliseconds(1))
        #expect(try await bench.line() == .failed(.malformed("No request arrived in time.")))
        try await bench.ended()
    }

    @Test("A peer that closes its side gets the response to a complete request, or an error")
    func halfClosed() async throws {
        let held = Held()
        let bench = try await Bench([held])
        try await bench.send("{\"control\":1,\"operation\":\"held\"}\n")
        bench.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        held.release.raise()
        #expect(try await bench.line() == .item(.bool(false)))
        #expect(try await bench.line() == .done)
        try await bench.ended()

        let silent = try await Bench([held])
        silent.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(try await silent.line() == .failed(.malformed("The request is incomplete.")))
        try await silent.ended()
    }

    @Test("An operation continues when its peer disconnects, and keeps its slot until it ends")
    func peerDisconnects() async throws {
        let held = Held()
        let bench = try await Bench([held])
        try await bench.send("{\"control\":1,\"operation\":\"held\"}\n")
        await held.begun.wait()
        try await bench.channel.close()
        #expect(bench.slots.channels.count == 1)
        held.release.raise()
        await held.ended.wait()
        try await bench.ended()
    }

    @Test("A peer that does not read is disconnected at the deadline, and its operation continues")
    func doesNotRead() async throws {
        let bench = try await Bench([Echo()])
        let (channel, wrote) = (bench.channel, Signal())
        try await channel.testingEventLoop.submit {
            try channel.pipeline.syncOperations.addHandler(FullSocket(wrote), position: .first)
        }.get()
        try await bench.send(#"{"control":1,"operation":"echo","arguments":{"times":3}}"# + "\n")
        await wrote.wait()
        await bench.pass(.milliseconds(29_999))
        #expect(channel.isActive)
        await bench.pass(.milliseconds(1))
        try await bench.ended()
    }

    /// A handler that never completes a write.
    private final class FullSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private let wrote: Signal
        private var held: [EventLoopPromise<Void>] = []

        init(_ wrote: Signal) { self.wrote = wrote }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if let promise { held.append(promise) }
            wrote.raise()
        }

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
            for promise in held { promise.fail(ChannelError.ioOnClosedChannel) }
            context.close(mode: mode, promise: promise)
        }
    }

    @Test("A stream ends when its peer disconnects or the gateway stops")
    func streams() async throws {
        for isStopped in [true, false] {
            let ticks = Ticks()
            let bench = try await Bench([ticks])
            try await bench.send("{\"control\":1,\"operation\":\"ticks\"}\n")
            #expect(try await bench.line() == .item(.string("tick")))
            if isStopped {
                bench.channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop())
                await ticks.cancelled.wait()
                #expect(try await bench.line() == .done)
            } else {
                try await bench.channel.close()
                await ticks.cancelled.wait()
            }
            try await bench.ended()
        }
    }

    @Test("A gateway that stops rejects new requests and completes the ones in progress")
    func stopping() async throws {
        let early = try await Bench([Echo()])
        early.channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop())
        #expect(try await early.line() == .failed(.unavailable("The gateway is stopping.")))
        try await early.ended()

        let held = Held()
        let late = try await Bench([held])
        try await late.send("{\"control\":1,\"operation\":\"held\"}\n")
        late.channel.pipeline.fireUserInboundEventTriggered(ControlConnection.Stop())
        held.release.raise()
        #expect(try await late.line() == .item(.bool(false)))
        #expect(try await late.line() == .done)
        try await late.ended()
    }
}
