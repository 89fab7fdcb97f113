import Gateway
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of HTTP/1.1 connections with pipelined requests beside other connections of the same event loop.
@Suite struct PipelinedTurnTests {
    private static func get(_ path: String) -> [UInt8] { Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8) }

    /// Returns as many requests as a read of an attacker's socket contains, and more.
    private static func flood(_ count: Int = 1000) -> [UInt8] { (0..<count).flatMap { _ in get("/flood") } }

    /// Returns the number of responses since the last call, without running the loop.
    private static func responses(_ connection: EmbeddedHTTP2Connection) throws -> Int {
        var count = 0
        while let bytes = try connection.channel.readOutbound(as: ByteBuffer.self) {
            count += String(buffer: bytes).split(separator: "HTTP/1.1 200 OK").count
        }
        return count
    }

    @Test("A connection serves one request on arrival, and the loop serves others before the next one")
    func otherConnection() throws {
        let attacker = try EmbeddedHTTP2Connection()
        let honest = try EmbeddedHTTP2Connection(beside: attacker)
        try attacker.receive(Self.flood())
        #expect(try Self.responses(attacker) == 1)
        // A request that is not pipelined waits for no task of the loop, even on the attacker's address.
        try honest.receive(Self.get("/honest"))
        #expect(try Self.responses(honest) == 1)
        #expect(try Self.responses(attacker) == 0)
        attacker.loop.advanceTime(by: .seconds(1))
        #expect(try Self.responses(attacker) == 999)
        #expect(attacker.isOpen)
    }

    @Test("A pipelined request waits for one request of each other network")
    func otherNetwork() throws {
        let first = try EmbeddedHTTP2Connection()
        let attackers = try [first] + (0..<15).map { _ in try EmbeddedHTTP2Connection(beside: first) }
        let honest = try EmbeddedHTTP2Connection(beside: first, from: 0x7F00_0002)
        for attacker in attackers { try attacker.receive(Self.flood(100)) }
        try honest.receive(Self.get("/1") + Self.get("/2") + Self.get("/3"))
        for attacker in attackers { #expect(try Self.responses(attacker) == 1) }
        #expect(try Self.responses(honest) == 1)
        // A turn of each, then another one of each, and so on.
        first.loop.run()
        let served = try attackers.map(Self.responses).reduce(0, +)
        #expect(try Self.responses(honest) == 2)
        #expect(served == TurnScheduler.unitsPerTick - 2)
        first.loop.advanceTime(by: .seconds(1))
        #expect(try attackers.map(Self.responses).reduce(0, +) == 16 * 99 - served)
    }

    @Test("In one tick, all connections together serve a bounded number of pipelined requests")
    func oneTick() throws {
        let tick = EventLoopTick()
        let attacker = try EmbeddedHTTP2Connection(tick: tick)
        try attacker.receive(Self.flood())
        attacker.loop.advanceTime(by: .seconds(1))
        #expect(try Self.responses(attacker) == 1 + TurnScheduler.unitsPerTick)
        tick.complete(at: .now(), tasksBegan: .now())
        attacker.loop.advanceTime(by: .seconds(1))
        #expect(try Self.responses(attacker) == TurnScheduler.unitsPerTick)
    }

    @Test("While a request waits for its turn, the socket is not read and no deadline applies")
    func waiting() throws {
        let tick = EventLoopTick()
        let connection = try EmbeddedHTTP2Connection(tick: tick)
        let count = 2 + TurnScheduler.unitsPerTick
        try connection.receive(Self.flood(count))
        let reads = ReadCounter()
        try connection.channel.pipeline.syncOperations.addHandler(reads, position: .first)
        connection.channel.read()
        // The tick never ends in this time.
        connection.loop.advanceTime(by: .minutes(1))
        #expect(connection.isOpen)
        #expect(reads.count == 0)
        #expect(try Self.responses(connection) == count - 1)
        tick.complete(at: .now(), tasksBegan: .now())
        connection.loop.advanceTime(by: .seconds(1))
        #expect(try Self.responses(connection) == 1)
        #expect(reads.count == 1)
    }

    @Test("A client that ends its input while its requests wait gets all responses")
    func endOfInput() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.receive(Self.flood(20))
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(try Self.responses(connection) == 1)
        connection.loop.run()
        #expect(try Self.responses(connection) == 19)
        #expect(!connection.isOpen)
    }

    @Test("A connection that drains while its requests wait serves one more")
    func drain() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.receive(Self.flood(20))
        _ = connection.shared.drain(until: .distantFuture)
        connection.loop.run()
        let text = try connection.channel.readAllText()
        #expect(text.split(separator: "HTTP/1.1 200 OK").count == 2)
        #expect(text.split(separator: "\r\nConnection: close\r\n").count == 2)
    }

    @Test("A connection that closes while its requests wait is removed and the others continue")
    func close() throws {
        let first = try EmbeddedHTTP2Connection()
        let second = try EmbeddedHTTP2Connection(beside: first)
        for connection in [first, second] { try connection.receive(Self.flood(20)) }
        second.channel.close(promise: nil)
        first.loop.run()
        #expect(try Self.responses(first) == 20)
        #expect(try Self.responses(second) == 1)
        #expect(first.shared.statistics.connections == 1)
    }

    @Test("Pipelined requests and HTTP/2 frames share the bounds of a tick")
    func beside2() throws {
        let tick = EventLoopTick()
        let first = try EmbeddedHTTP2Connection(tick: tick)
        let second = try EmbeddedHTTP2Connection(beside: first)
        try second.begin()
        tick.complete(at: .now(), tasksBegan: .now())
        try first.receive(Self.flood())
        let frames = (0..<90).flatMap { FrameClient.Frame.headers(2 * $0 + 1, HTTP2Fixture.get("/a")).bytes }
        try second.receive(frames)
        first.loop.advanceTime(by: .seconds(1))
        let others = try second.written().filter { $0.hasPrefix("200") }.count
        #expect(others == 90)
        #expect(try Self.responses(first) == 1 + TurnScheduler.unitsPerTick - others)
    }
}

extension EmbeddedChannel {
    /// Returns all written bytes as text.
    fileprivate func readAllText() throws -> String {
        var text = ""
        while let bytes = try readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }
}
