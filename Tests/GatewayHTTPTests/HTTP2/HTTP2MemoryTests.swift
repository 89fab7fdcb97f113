import Gateway
import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded
import NIOHPACK
import NIOHTTP2
import Testing

@testable import GatewayHTTP

/// Tests of the memory that the streams and frames of an HTTP/2 connection count for.
@Suite struct HTTP2MemoryTests {
    typealias Frame = FrameClient.Frame

    @Test("Streams count with their places in tables that have grown, and an empty connection counts nothing")
    func streamTables() throws {
        let reader = try HTTP2RequestReader(HPACKHeaders(HTTP2Fixture.post("/a")), limits: .init())
        let request = HTTP2Stream.IncompleteRequest(reader, isComplete: false)
        #expect(request.heldBytes <= 32, "A small head keeps a small buffer")
        #expect(HTTP2Stream.IncompleteRequest(reader, isComplete: true).heldBytes == 1024)
        let one = HTTP2Stream.overhead + request.heldBytes
        var streams = HTTP2Streams()
        for number in 0..<100 {
            streams[HTTP2StreamID(2 * number + 1)] = HTTP2Stream(state: .receiving(request))
            if number == 9 { #expect(streams.heldBytes(buffers: 200) == 10 * one + 200) }
        }
        #expect(streams.heldBytes() == 100 * one + 128 * HTTP2Streams.placeBytes)
        for number in 1..<100 { streams[HTTP2StreamID(2 * number + 1)] = nil }
        #expect(streams.heldBytes() == 2 * one, "Large tables count no more than the streams")
        #expect(streams.heldBytes(buffers: 8192) == 2 * one)
        streams[HTTP2StreamID(1)] = nil
        #expect(streams.heldBytes() == 0)
    }

    @Test("Requests are counted while further frames of their connection wait")
    func waitingFrames() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        // One turn of the connection; the other frames wait.
        try connection.receive(RequestMemoryTests.held(0..<100).flatMap(\.bytes))
        #expect(memory.bytes >= (TurnScheduler.unitsPerTurn - 1) * 4096)
        #expect(memory.refused.value == 0)
        connection.loop.run()
        #expect(memory.bytes <= (16 << 20) / 256)
        let events = try connection.written()
        // 64 KiB hold fifteen of them with the tables of streams, which grow little at eight frames a turn.
        #expect(events.filter { $0.hasPrefix("431") }.count == 85)
        #expect(!events.contains("431 on 11"))
    }

    @Test("Without free memory, a connection whose frames wait holds one request")
    func waitingFramesWithoutMemory() throws {
        let memory = RequestMemory(limit: 16 << 20)
        var proxies: [RequestMemory.Account] = []
        for _ in 0..<400 {
            var account = RequestMemory.Account(of: memory, part: .proxy)
            while account.set(account.bytes + 256) == .granted {}
            proxies.append(account)
        }
        let refused = memory.refused.value
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        try connection.receive(RequestMemoryTests.held(0..<32).flatMap(\.bytes))
        #expect(memory.refused.value == refused + UInt64(TurnScheduler.unitsPerTurn))
        #expect(connection.isOpen)
        for index in proxies.indices { _ = proxies[index].set(0) }
    }

    @Test("A client may send the heads of a hundred requests before their bodies")
    func headsBeforeBodies() throws {
        let memory = RequestMemory()
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        let token = [("authorization", "Bearer " + String(repeating: "x", count: 700))]
        let heads = (0..<100).map { Frame.headers(2 * $0 + 1, HTTP2Fixture.post("/\($0)") + token, end: false) }
        let bodies = (0..<100).map { Frame.data(2 * $0 + 1, "body") }
        try connection.send(bytes: (heads + bodies).flatMap(\.bytes))
        // The frames beyond those of one tick are handled after a pause.
        connection.loop.advanceTime(by: .milliseconds(1))
        let events = try connection.written()
        #expect(events.filter { $0.hasPrefix("200") }.count == 100)
        #expect(memory.refused.value == 0 && memory.bytes == 0)
        // Small heads may also wait for bodies that arrive later.
        let second = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try second.begin()
        let short = (0..<100).map { Frame.headers(2 * $0 + 1, HTTP2Fixture.post("/\($0)"), end: false) }
        try second.send(bytes: short.flatMap(\.bytes))
        try second.send(bytes: bodies.flatMap(\.bytes))
        #expect(try second.written().filter { $0.hasPrefix("200") }.count == 100)
        #expect(memory.refused.value == 0)
    }

    /// Responds with 16 KiB.
    private static let texts = ClosureResponder { _ in
        Response(status: 200, body: [UInt8](repeating: 0x78, count: 16_384))
    }

    @Test("Responses that wait for the client's window count, and the newest beyond the limit are reset")
    func unreadResponses() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection(Self.texts) { $0.requestMemory = memory }
        try connection.begin()
        try connection.send(.setting(4, 0))
        for number in UInt32(0)..<100 { try connection.send(.headers(2 * number + 1, HTTP2Fixture.get("/\(number)"))) }
        // A sixteenth of what is free holds sixty of them without their streams.
        #expect(memory.bytes > 50 * 16_384 && memory.bytes <= (16 << 20) / 16)
        var events = try connection.written()
        #expect(events.filter { $0.hasPrefix("200") }.count == 100)
        let reset = events.filter { $0.hasPrefix("reset") }
        #expect((40...50).contains(reset.count) && reset.allSatisfy { $0.hasSuffix("by 11") })
        let last = 2 * (100 - reset.count) - 1
        #expect(!reset.contains("reset \(last) by 11") && reset.contains("reset \(last + 2) by 11"))
        #expect(memory.refused.value >= reset.count)
        #expect(connection.isOpen)
        // The client takes the others.
        try connection.send(.windowUpdate(0, 1 << 21), .setting(4, 65_535))
        events = try connection.written()
        let bytes = events.filter { $0.hasPrefix("x") }.map { $0.utf8.prefix { $0 == 0x78 }.count }.reduce(0, +)
        #expect(bytes == (100 - reset.count) * 16_384)
        #expect(memory.bytes == 0)
    }

    @Test("Without memory for their responses, a client that reads nothing at all is closed")
    func unreadableResponses() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection(Self.texts) { $0.requestMemory = memory }
        try connection.begin()
        connection.channel.isWritable = false
        for number in UInt32(0)..<100 where connection.isOpen {
            try connection.send(.headers(2 * number + 1, HTTP2Fixture.get("/\(number)")))
        }
        #expect(!connection.isOpen)
        #expect(memory.bytes == 0)
    }

    @Test("Calls that wait for admission count, and the newest beyond the limit are rejected at once")
    func waitingCalls() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection {
            $0.requestMemory = memory
            $0.calls = InFlightLimit(maximum: 1)
        }
        let (calls, queue) = (connection.shared.configuration.calls, connection.shared.admissionQueue)
        #expect(calls.admit())
        try connection.begin()
        let body = String(repeating: "x", count: 12_000)
        // All of it at once, in the order of the streams.
        for number in UInt32(0)..<90 {
            let id = 2 * number + 1
            try connection.send(.headers(id, HTTP2Fixture.post("/a"), end: false), .data(id, body), .windowUpdate(0, 1))
        }
        // A sixteenth of what is free holds 50 to 60 of them.
        #expect(memory.bytes > 45 * 16_384 && memory.bytes <= (16 << 20) / 16)
        let rejected = try connection.written().filter { $0.hasPrefix("503") }
        #expect(rejected.count >= 1)
        let held = memory.bytes
        // One that its client resets is no longer held.
        try connection.send(.reset(1))
        #expect(memory.bytes < held - 16_384)
        // A free place begins the others, which then count by their number only.
        calls.release()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(queue.count == 0 && calls.inFlight == 0 && connection.shared.callsInFlight == 0)
        #expect(memory.bytes == 0 && connection.isOpen)
    }

    @Test("Responses that a client takes at once do not count, and a reset frees those that wait")
    func readResponses() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection(Self.texts) { $0.requestMemory = memory }
        try connection.begin()
        for number in UInt32(0)..<3 {
            try connection.send(.headers(2 * number + 1, HTTP2Fixture.get("/")))
            #expect(memory.bytes == 0)
        }
        // The rest of the connection's window is smaller than the fourth response.
        try connection.send(.headers(7, HTTP2Fixture.get("/")))
        #expect(memory.bytes > 16_384 && memory.bytes <= 16_384 + 2 * HTTP2Stream.overhead)
        try connection.send(.reset(7))
        #expect(memory.bytes == 0)
        try connection.send(.headers(9, HTTP2Fixture.get("/")))
        try connection.channel.close().wait()
        connection.loop.run()
        #expect(memory.bytes == 0)
    }

    @Test("The buffer of a large frame counts while its connection is open")
    func largeFrame() throws {
        let memory = RequestMemory(limit: 16 << 20)
        let connection = try EmbeddedHTTP2Connection { $0.requestMemory = memory }
        try connection.begin()
        try connection.send(Frame(type: 0x55, payload: [UInt8](repeating: 0, count: 4096)))
        #expect(memory.bytes == 0)
        try connection.send(Frame(type: 0x55, payload: [UInt8](repeating: 0, count: 16_384)))
        #expect(memory.bytes == 32_768)
        try connection.channel.close().wait()
        connection.loop.run()
        #expect(memory.bytes == 0)
    }
}
