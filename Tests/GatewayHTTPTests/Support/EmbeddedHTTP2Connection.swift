import Gateway
import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded
import NIOHPACK

@testable import GatewayHTTP

/// An HTTP/2 connection without a socket, with a manual clock, from its acceptance. For synchronous tests: it stays on
/// one thread and ends with the test.
final class EmbeddedHTTP2Connection {
    typealias Frame = FrameClient.Frame

    let loop: EmbeddedEventLoop
    let shared: ListenerLoop
    let channel: EmbeddedChannel
    /// Whether the client answers PING frames.
    var answersPings = false
    private var decoder = HPACKDecoder(allocator: ByteBufferAllocator())
    private let ownsLoop: Bool

    /// Accepts a connection without any bytes.
    /// - Parameter tick: The tick counter of the loop. The test completes its ticks.
    convenience init(
        _ serving: any RequestResponder = ClosureResponder.echo, tick: EventLoopTick? = nil,
        configure: (inout ListenerConfiguration) -> Void = { _ in }
    ) throws {
        let loop = EmbeddedEventLoop()
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.supportsHTTP2 = true
        configure(&configuration)
        let clocks = Clocks(monotonic: { .init(nanoseconds: 0) }, wall: { WallTime(seconds: 784_111_777) })
        let shared = ListenerLoop(
            eventLoop: loop, serving: serving, configuration: configuration, allowsCredentials: true, clocks: clocks,
            tick: tick)
        try self.init(loop, shared, ownsLoop: true)
    }

    /// Accepts another connection of the same listener on the same loop. The first connection must outlive it.
    ///
    /// - Parameter address: The IPv4 address of the client.
    convenience init(beside other: EmbeddedHTTP2Connection, from address: UInt32 = 0x7F00_0001) throws {
        try self.init(other.loop, other.shared, ownsLoop: false, from: address)
    }

    private init(
        _ loop: EmbeddedEventLoop, _ shared: ListenerLoop, ownsLoop: Bool, from address: UInt32 = 0x7F00_0001
    ) throws {
        (self.loop, self.shared, self.ownsLoop) = (loop, shared, ownsLoop)
        channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let peer = Peer(address: .v4(address), text: "127.0.0.1")
        try ConnectionSetup(channel: channel, loop: shared, peer: peer, connectionLimit: ConnectionLimit(.init()))
            .start()
    }

    deinit {
        channel.close(promise: nil)
        if ownsLoop { loop.end() }
    }

    /// Whether the gateway has not closed the connection.
    var isOpen: Bool { channel.isActive }

    /// Sends the client preface.
    func begin() throws { try send(bytes: FrameClient.preface + Frame.settings.bytes) }

    func send(_ frames: Frame...) throws { try send(bytes: frames.flatMap(\.bytes)) }

    /// Sends bytes and runs the tasks of the loop.
    func send(bytes: [UInt8]) throws {
        try receive(bytes)
        loop.run()
    }

    /// Delivers bytes without running the tasks of the loop.
    func receive(_ bytes: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: bytes)) }

    /// Returns the frames written since the last call, except those that maintain the connection: `200 on 1`, `text on
    /// 1`, `reset 1 by 8`, `goaway after 1 by 0`.
    func written() throws -> [String] {
        var events: [String] = []
        for frame in try frames() {
            switch frame.type {
            case 0:
                if !frame.payload.isEmpty {
                    events.append("\(String(decoding: frame.payload, as: UTF8.self)) on \(frame.stream)")
                }
            case 1:
                var block = ByteBuffer(bytes: frame.payload)
                let status = try decoder.decodeHeaders(from: &block).first(name: ":status") ?? "-"
                events.append("\(status) on \(frame.stream)")
            case 3: events.append("reset \(frame.stream) by \(Frame.number(frame.payload))")
            case 7:
                events.append(
                    "goaway after \(Frame.number(frame.payload.prefix(4))) by \(Frame.number(frame.payload[4..<8]))")
            default: break
            }
        }
        return events
    }

    /// Returns the frames written since the last call of this method or of `written`.
    func frames() throws -> [Frame] {
        loop.run()
        var bytes: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { bytes += buffer.readableBytesView }
        var frames: [Frame] = []
        while let frame = Frame(takenFrom: &bytes) { frames.append(frame) }
        let pings = frames.filter { $0.type == 6 && $0.flags == 0 }
        guard answersPings, !pings.isEmpty, isOpen else { return frames }
        for ping in pings { try send(.pingAck(ping.payload)) }
        return frames + (try self.frames())
    }
}
