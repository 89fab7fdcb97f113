import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import GatewayHTTP

/// Tests of HTTP/2 connections that share an event loop.
@Suite struct FrameTurnTests {
    typealias Frame = FrameClient.Frame

    private static let most = (turn: TurnScheduler.unitsPerTurn, tick: TurnScheduler.unitsPerTick)

    /// Returns requests on separate streams, starting with the given one.
    private static func gets(_ streams: Range<UInt32>, by client: String = "") -> [UInt8] {
        streams.flatMap { Frame.headers(2 * $0 + 1, HTTP2Fixture.get("/\(client)\($0)")).bytes }
    }

    private static func statuses(_ connection: EmbeddedHTTP2Connection) throws -> [String] {
        try connection.written().filter { $0.hasPrefix("200") }
    }

    /// Counts the requests that were started.
    private final class Calls: Sendable {
        private let paths = Mutex<[String]>([])

        var serving: ClosureResponder {
            ClosureResponder { request in
                self.paths.withLock { $0.append(String(buffer: request.path)) }
                return Response(status: 200)
            }
        }

        func process() -> [String] {
            paths.withLock { paths in
                defer { paths = [] }
                return paths
            }
        }
    }

    @Test("A connection processes a few frames at once and the rest later, in order")
    func oneConnection() throws {
        let calls = Calls()
        let connection = try EmbeddedHTTP2Connection(calls.serving)
        try connection.begin()
        try connection.receive(Self.gets(0..<100))
        #expect(calls.process() == (0..<Self.most.turn).map { "/\($0)" })
        connection.loop.run()
        #expect(calls.process() == (Self.most.turn..<100).map { "/\($0)" })
        #expect(try Self.statuses(connection) == (0..<100).map { "200 on \(2 * $0 + 1)" })
        #expect(connection.shared.turns.waitingBytes == 0)
    }

    @Test("All requests get their responses in order, however the bytes are split", arguments: [1, 7, 61, 500])
    func splits(_ size: Int) throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        let bytes = Self.gets(0..<60)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try connection.receive(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(try Self.statuses(connection) == (0..<60).map { "200 on \(2 * $0 + 1)" })
    }

    /// Records the sizes of what the HTTP/2 library gets at once.
    private final class SizeRecorder: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private(set) var sizes: [Int] = []

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            sizes.append(unwrapInboundIn(data).readableBytes)
            context.fireChannelRead(data)
        }
    }

    @Test("The HTTP/2 library gets no more at once than a read, however much TLS has decrypted")
    func pieces() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        let (recorder, pipeline) = (SizeRecorder(), connection.channel.pipeline.syncOperations)
        let limiter = try pipeline.handler(type: FrameRateLimitHandler.self)
        try pipeline.addHandler(recorder, position: .after(limiter))
        try connection.receive(
            Frame.headers(1, HTTP2Fixture.post("/a"), end: false).bytes
                + Frame.data(1, String(repeating: " ", count: 16_000)).bytes)
        #expect(try Self.statuses(connection) == ["200 on 1"])
        #expect(recorder.sizes.reduce(0, +) > 16_000)
        #expect(recorder.sizes.allSatisfy { $0 <= Listener.readBytes })
    }

    @Test("Connections take turns and share the frames of a tick")
    func manyConnections() throws {
        let (calls, turn) = (Calls(), EventLoopTick())
        func endTick() { turn.complete(at: .now(), tasksBegan: .now()) }
        let first = try EmbeddedHTTP2Connection(calls.serving, tick: turn)
        let others = try (0..<19).map { _ in try EmbeddedHTTP2Connection(beside: first) }
        for connection in [first] + others {
            try connection.begin()
            endTick()
        }
        for (number, connection) in ([first] + others).enumerated() {
            try connection.receive(Self.gets(0..<40, by: "\(number)-"))
        }
        #expect(calls.process().count == Self.most.turn)
        first.loop.run()
        #expect(calls.process().count == Self.most.tick - Self.most.turn)
        // The tick is not complete; its tasks run again.
        first.loop.advanceTime(by: TurnScheduler.pause)
        #expect(calls.process().isEmpty)
        var ticks: [[String]] = []
        while first.shared.turns.waitingBytes > 0 {
            endTick()
            first.loop.advanceTime(by: TurnScheduler.pause)
            ticks.append(calls.process())
        }
        #expect(ticks.allSatisfy { $0.count <= Self.most.tick })
        #expect(ticks.joined().count == 20 * 40 - Self.most.tick)
        // The last connection has its first turn before the first one has its third.
        let order = Array(ticks.joined())
        let firstTurn = order.firstIndex(of: "/19-0")
        let thirdTurn = order.firstIndex(of: "/0-\(2 * Self.most.turn)")
        #expect(try #require(firstTurn) < #require(thirdTurn))
        for connection in [first] + others { #expect(try Self.statuses(connection).count == 40) }
    }

    @Test("An HTTP/1.1 connection on the same loop is served while others wait for their turn")
    func otherCalls() throws {
        let turn = EventLoopTick()
        let first = try EmbeddedHTTP2Connection(tick: turn)
        let others = try (0..<19).map { _ in try EmbeddedHTTP2Connection(beside: first) }
        for connection in [first] + others {
            try connection.begin()
            turn.complete(at: .now(), tasksBegan: .now())
        }
        for connection in [first] + others { try connection.receive(Self.gets(0..<40)) }
        let honest = try EmbeddedHTTP2Connection(beside: first)
        try honest.send(bytes: Array("GET /honest HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
        #expect(first.shared.turns.waitingBytes > 0)
        let answer = try #require(try honest.channel.readOutbound(as: ByteBuffer.self))
        #expect(String(buffer: answer).hasPrefix("HTTP/1.1 200 "))
        while first.shared.turns.waitingBytes > 0 {
            turn.complete(at: .now(), tasksBegan: .now())
            first.loop.advanceTime(by: TurnScheduler.pause)
        }
    }

    @Test("While frames wait, the socket is not read and the end of the input is held back")
    func readsAndEnd() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        let reads = ReadCounter()
        try connection.channel.pipeline.syncOperations.addHandler(reads, position: .first)
        try connection.receive(Self.gets(0..<40))
        let before = reads.count
        connection.channel.pipeline.read()
        connection.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(reads.count == before)
        #expect(try Self.statuses(connection).count == 40)
        #expect(reads.count == before + 1)
        // GOAWAY follows the last response and the connection closes. No stream was refused.
        #expect(!connection.isOpen || connection.shared.turns.waitingBytes == 0)
    }

    @Test("A connection that closes while its frames wait is removed and the others continue")
    func end() throws {
        let first = try EmbeddedHTTP2Connection()
        let second = try EmbeddedHTTP2Connection(beside: first)
        for connection in [first, second] {
            try connection.begin()
            try connection.receive(Self.gets(0..<40))
        }
        #expect(first.shared.turns.waitingBytes > 0)
        second.channel.close(promise: nil)
        #expect(try Self.statuses(first).count == 40)
        #expect(first.shared.turns.waitingBytes == 0)
        #expect(first.shared.statistics.connections == 1)
    }

    @Test("A request waits for one turn of each other address, however many connections that has")
    func otherAddress() throws {
        let calls = Calls()
        let first = try EmbeddedHTTP2Connection(calls.serving)
        let attackers = try [first] + (0..<40).map { _ in try EmbeddedHTTP2Connection(beside: first) }
        let honest = try EmbeddedHTTP2Connection(beside: first, from: 0x7F00_0002)
        for connection in attackers + [honest] { try connection.begin() }
        for attacker in attackers { try attacker.receive(Self.gets(0..<40, by: "attack-")) }
        try honest.receive(Self.gets(0..<1, by: "honest-"))
        first.loop.run()
        let place = try #require(calls.process().firstIndex(of: "/honest-0"))
        // One turn on arrival, one in the queue.
        #expect(place <= 2 * Self.most.turn)
        first.loop.advanceTime(by: .seconds(1))
        #expect(first.shared.turns.waitingBytes == 0)
    }

    @Test("While too many bytes wait, the address with the most loses connections and others keep their turns")
    func tooManyBytes() throws {
        let calls = Calls()
        let attacker = try EmbeddedHTTP2Connection(calls.serving)
        let honest = try EmbeddedHTTP2Connection(beside: attacker, from: 0x7F00_0002)
        for connection in [attacker, honest] { try connection.begin() }
        let turns = attacker.shared.turns
        // The other connections of the attacker.
        let owner = TurnOwner.network(.v4(0x7F00_0001))
        #expect(turns.changeWaitingBytes(by: TurnScheduler.waitingBytesLimit, of: owner))
        try honest.receive(Self.gets(0..<60))
        #expect(calls.process().count == Self.most.turn)
        try attacker.receive(Self.gets(0..<60))
        #expect(calls.process().isEmpty)
        #expect(try Self.statuses(honest).count == 60)
        #expect(try attacker.written() == ["goaway after 0 by 11"])
        #expect(!attacker.isOpen)
        #expect(turns.waitingBytes == TurnScheduler.waitingBytesLimit)
    }

    @Test("Incomplete requests count towards the memory limit while further frames of the connection wait")
    func memoryWhileWaiting() throws {
        // A connection may hold 20 KiB.
        let memory = RequestMemory(limit: 257 * 20 << 10)
        let attacker = try EmbeddedHTTP2Connection(tick: EventLoopTick()) { $0.requestMemory = memory }
        try attacker.begin()
        let uploads = (0..<60).flatMap { Frame.headers(2 * $0 + 1, HTTP2Fixture.post("/b"), end: false).bytes }
        try attacker.receive(uploads)
        let waiting = attacker.shared.turns.waitingBytes
        #expect(waiting > 0)
        attacker.loop.run()
        #expect(memory.bytes > 0)
        #expect(memory.bytes <= 20 << 10)
        let answers = try attacker.written()
        // An open stream counts about 1.5 KiB with its places in tables, so 20 KiB hold 13.
        #expect(answers.count { $0.hasPrefix("503") || $0.hasPrefix("431") } == 60 - 13)
    }

    @Test("The gateway serves thousands of requests that each refer to a long token by one byte")
    func indexedRequests() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        // GET, http and `/`, then an authority and a token that enter the table. The token is the newest table entry.
        let fields: [UInt8] = [0x82, 0x86, 0x84]
        let token = Array("Bearer ".utf8) + [UInt8](repeating: UInt8(ascii: "t"), count: 1000)
        let length: [UInt8] = [0x7F, UInt8((token.count - 127) & 0x7F | 0x80), UInt8((token.count - 127) >> 7)]
        let literal = fields + [0x41, 1, UInt8(ascii: "a"), 0x40, 13] + Array("authorization".utf8) + length + token
        try connection.send(Frame(type: 1, flags: 5, stream: 1, payload: literal))
        #expect(try Self.statuses(connection) == ["200 on 1"])
        for round in 0..<50 {
            let streams = (0..<100).map { UInt32(2 * (100 * round + $0 + 1) + 1) }
            try connection.receive(
                streams.flatMap { Frame(type: 1, flags: 5, stream: $0, payload: fields + [0xBF, 0xBE]).bytes })
            #expect(try Self.statuses(connection) == streams.map { "200 on \($0)" })
            connection.loop.advanceTime(by: TurnScheduler.pause)
        }
        #expect(connection.isOpen)
    }
}
