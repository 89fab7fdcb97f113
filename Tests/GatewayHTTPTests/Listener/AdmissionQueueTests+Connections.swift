import Gateway
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of connections whose calls wait in the queue.
extension AdmissionQueueTests {
    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

    @Test("A connection with a queued call is not read") func aConnectionWithAQueuedCallIsNotRead() throws {
        let gate = Gate()
        let serving = ClosureResponder { request in
            await gate.pass()
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        let connection = try EmbeddedConnection(serving) { $0.calls = InFlightLimit(maximum: 1) }
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/1") + Self.get("/2"))
        #expect(try connection.answers() == [])
        #expect(connection.shared.admissionQueue.count == 1 && connection.shared.callsInFlight == 0)
        connection.shared.configuration.calls.release()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(connection.shared.callsInFlight == 1)
        // The second call starts when the first has completed.
        for _ in 0..<2 {
            gate.open()
            connection.loop.run()
        }
        #expect(try connection.answers() == ["200 /1", "200 /2"])
        #expect(connection.shared.configuration.calls.inFlight == 0)
    }

    @Test("A queued call counts, is released with its connection, and is rejected without memory")
    func memoryOfAQueuedCall() throws {
        let memory = RequestMemory(limit: 1 << 20)
        let calls = InFlightLimit(maximum: 1)
        let connection = try EmbeddedConnection {
            $0.calls = calls
            $0.requestMemory = memory
        }
        #expect(calls.admit())
        try connection.send(Self.get("/1"))
        #expect(connection.shared.admissionQueue.count == 1 && memory.bytes > 0)
        try connection.channel.close().wait()
        connection.loop.run()
        #expect(memory.bytes == 0)
        // Somebody else has everything.
        var all = RequestMemory.Account(of: memory, part: .proxy)
        while all.set(all.bytes + 64) == .granted {}
        var others: [RequestMemory.Account] = []
        while memory.bytes < (1 << 20) - 64 * 1024, others.count < 200 {
            var other = RequestMemory.Account(of: memory, part: .proxy)
            while other.set(other.bytes + 64) == .granted {}
            others.append(other)
        }
        let second = try EmbeddedConnection {
            $0.calls = calls
            $0.requestMemory = memory
        }
        try second.send(
            Self.get("/2").dropLast() + "Authorization: Bearer \(String(repeating: "x", count: 2000))\r\n\r\n")
        let answers = try second.answers()
        #expect(answers.count == 1 && answers[0].hasPrefix("503"), "\(answers), \(memory.bytes)")
        for index in others.indices { others[index].close() }
        all.close()
    }

    @Test("While backend calls have all places, other calls use the reserve")
    func reserve() throws {
        let gate = Gate()
        let serving = ClosureResponder { request in
            if request.path.readableBytes > 4 { await gate.pass() }
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        let connection = try EmbeddedConnection(serving) { $0.calls = InFlightLimit(maximum: 1) }
        let calls = connection.shared.configuration.calls
        #expect(calls.admit())
        for _ in 0..<3 { try connection.send(Self.get("/own")) }
        #expect(try connection.answers() == ["200 /own", "200 /own", "200 /own"])
        // No place is left for a backend call, and the reserve is exhausted.
        for _ in 0..<calls.reserve { #expect(calls.admitUsingReserve()) }
        #expect(!calls.admitUsingReserve() && !calls.admit())
        try connection.send(Self.get("/own"))
        #expect(connection.shared.admissionQueue.count == 1)
        for _ in 0...calls.reserve { calls.release() }
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(try connection.answers() == ["200 /own"])
        #expect(calls.inFlight == 0)
    }

    @Test("A connection whose queued call is rejected gets a response and stays open")
    func aConnectionWhoseQueuedCallIsRejectedGetsAResponseAndStaysOpen() throws {
        let connection = try EmbeddedConnection { $0.calls = InFlightLimit(maximum: 1) }
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/1"))
        connection.loop.advanceTime(by: .milliseconds(1050))
        #expect(try connection.answers() == ["503 overloaded"])
        connection.shared.configuration.calls.release()
        try connection.send(Self.get("/2"))
        #expect(try connection.answers() == ["200 /2"])
        // A call whose client leaves while it waits is never started and blocks nothing.
        #expect(connection.shared.configuration.calls.admit())
        try connection.send(Self.get("/3"))
        connection.channel.close(promise: nil)
        connection.shared.configuration.calls.release()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(connection.shared.admissionQueue.count == 0 && connection.shared.configuration.calls.inFlight == 0)
    }

    @Test("A queued HTTP/2 stream may be reset") func aQueuedHTTP2StreamMayBeReset() throws {
        let connection = try EmbeddedHTTP2Connection { $0.calls = InFlightLimit(maximum: 1) }
        let calls = connection.shared.configuration.calls
        #expect(calls.admit())
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/1")), .headers(3, HTTP2Fixture.get("/3")))
        #expect(try connection.written() == [])
        #expect(connection.shared.admissionQueue.count == 2)
        try connection.send(.reset(1))
        calls.release()
        connection.loop.advanceTime(by: .milliseconds(50))
        #expect(try connection.written() == ["200 on 3", "/3 on 3"])
        #expect(calls.admit())
        try connection.send(.headers(5, HTTP2Fixture.get("/5")))
        connection.loop.advanceTime(by: .milliseconds(1050))
        #expect(try connection.written() == ["503 on 5", "overloaded on 5"])
        #expect(calls.inFlight == 1)
    }
}
