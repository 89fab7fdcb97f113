import GatewayCore
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of many TLS handshakes at once on one event loop.
@Suite struct HandshakeTurnTests {
    private static func hello() throws -> ByteBuffer {
        let handler = try NIOSSLClientHandler(context: TLSOffer().context(), serverHostname: "localhost")
        let channel = EmbeddedChannel(handler: handler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        let hello = try channel.readOutbound(as: ByteBuffer.self)
        _ = try? channel.finish()
        return try #require(hello)
    }

    private let loop = EmbeddedEventLoop()
    private let tick = EventLoopTick()

    private func accept(_ scheduler: TurnScheduler, from address: UInt32) throws -> (EmbeddedChannel, ReadCounter) {
        let reads = ReadCounter()
        let check = ApplicationProtocolCheck(
            supported: ["http/1.1"], scheduler: scheduler, owner: .network(.v4(address)))
        let channel = EmbeddedChannel(handlers: [reads, check], loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        return (channel, reads)
    }

    @Test("A ClientHello that arrives alone is passed on at once, also in single bytes")
    func alone() throws {
        let channel = try accept(TurnScheduler(on: loop, tick: tick), from: 1).0
        let hello = try Self.hello()
        for byte in hello.readableBytesView {
            #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
            try channel.writeInbound(ByteBuffer(bytes: [byte]))
        }
        #expect(try channel.readInbound(as: ByteBuffer.self) == hello)
        try channel.writeInbound(ByteBuffer(string: "more"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "more"))
    }

    @Test("After the time of a tick, handshakes wait, and one network waits for one of each other network")
    func turns() throws {
        let scheduler = TurnScheduler(on: loop, tick: tick)
        let hello = try Self.hello()
        #expect(scheduler.unitsForArrival() > 0)
        scheduler.spend(units: 1, time: TurnScheduler.timePerTick)
        let attackers = try (0..<200).map { _ in try accept(scheduler, from: 1).0 }
        let (honest, reads) = try accept(scheduler, from: 2)
        for channel in attackers + [honest] { try channel.writeInbound(hello) }
        honest.read()
        #expect(reads.count == 0)
        loop.advanceTime(by: TurnScheduler.pause)
        #expect(try honest.readInbound(as: ByteBuffer.self) == nil)
        tick.complete(at: .now(), tasksBegan: .now())
        loop.advanceTime(by: TurnScheduler.pause)
        #expect(try honest.readInbound(as: ByteBuffer.self) == hello)
        #expect(reads.count == 1)
        let done = try attackers.count { try $0.readInbound(as: ByteBuffer.self) != nil }
        #expect(done == TurnScheduler.unitsPerTick - 1)
        // A connection that closes while its ClientHello waits takes no turn.
        let last = try #require(attackers.last)
        last.close(promise: nil)
        tick.complete(at: .now(), tasksBegan: .now())
        loop.advanceTime(by: TurnScheduler.pause)
        #expect(try attackers.count { try $0.readInbound(as: ByteBuffer.self) != nil } == 199 - done)
    }
}
