import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of the eviction of connections whose request is incomplete.
@Suite struct StalledConnectionTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let upload = "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234"

    private let connectionLimit = ConnectionLimit(.init())

    /// Closes the candidate of the loop. Returns whether there is one.
    private func evict(on loop: EmbeddedEventLoop, after time: TimeAmount) -> Bool {
        loop.advanceTime(by: time)
        guard let connection = connectionLimit.idleConnections(on: loop).removeCandidate() else { return false }
        connection.evict()
        return true
    }

    @Test("An incomplete first request does not protect an HTTP/1.1 connection", arguments: ["G", upload])
    func anIncompleteFirstRequestDoesNotProtect(_ bytes: String) throws {
        let connection = try EmbeddedConnection { $0.connectionLimit = connectionLimit }
        try connection.send(bytes)
        #expect(!evict(on: connection.loop, after: .seconds(1)))
        #expect(evict(on: connection.loop, after: .seconds(1)))
        #expect(!connection.isOpen)
    }

    @Test("An incomplete later request protects an HTTP/1.1 connection for 5 s", arguments: ["G", upload])
    func anIncompleteLaterRequestProtectsFor5Seconds(_ bytes: String) throws {
        let connection = try EmbeddedConnection { $0.connectionLimit = connectionLimit }
        try connection.send(Self.get)
        #expect(try connection.answers() == ["200 /a"])
        connection.loop.advanceTime(by: .seconds(30))
        try connection.send(bytes)
        #expect(!evict(on: connection.loop, after: .seconds(4)))
        // Further bytes do not extend the time.
        try connection.send("E")
        #expect(evict(on: connection.loop, after: .seconds(1)))
        #expect(!connection.isOpen)
    }

    @Test("An HTTP/1.1 connection with a call in progress is never evicted")
    func anHTTP1ConnectionWithACallIsNeverEvicted() throws {
        let gate = Gate()
        let serving = ClosureResponder { _ in
            await gate.pass()
            return Response(status: 200)
        }
        let connection = try EmbeddedConnection(serving) { $0.connectionLimit = connectionLimit }
        try connection.send(Self.get + "G")
        #expect(!evict(on: connection.loop, after: .hours(1)))
        gate.open()
        connection.loop.run()
        #expect(try connection.answers() == ["200 "])
        #expect(!evict(on: connection.loop, after: .seconds(4)))
        #expect(evict(on: connection.loop, after: .seconds(1)))
    }

    @Test("An open stream that only receives does not protect an HTTP/2 connection")
    func aReceivingStreamDoesNotProtect() throws {
        let connection = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.post("/b"), end: false))
        #expect(!evict(on: connection.loop, after: .seconds(1)))
        #expect(evict(on: connection.loop, after: .seconds(1)))
        #expect(try connection.written() == ["goaway after 1 by 0"])
        #expect(!connection.isOpen)
    }

    @Test("A receiving stream protects a used HTTP/2 connection for 5 s, also after resets")
    func aReceivingStreamProtectsAUsedConnectionFor5Seconds() throws {
        let connection = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/a")))
        connection.loop.advanceTime(by: .seconds(30))
        try connection.send(.headers(3, HTTP2Fixture.post("/b"), end: false))
        #expect(!evict(on: connection.loop, after: .seconds(4)))
        try connection.send(.reset(3), .headers(5, HTTP2Fixture.post("/b"), end: false))
        #expect(evict(on: connection.loop, after: .seconds(1)))
        #expect(!connection.isOpen)
    }

    @Test("A response that the client does not admit protects an HTTP/2 connection for 5 s")
    func aResponseWithoutAWindowProtectsFor5Seconds() throws {
        let connection = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
        try connection.begin()
        // SETTINGS_INITIAL_WINDOW_SIZE.
        try connection.send(.setting(4, 0), .headers(1, HTTP2Fixture.get("/a")))
        #expect(!evict(on: connection.loop, after: .seconds(4)))
        #expect(evict(on: connection.loop, after: .seconds(1)))
    }

    @Test("An HTTP/2 connection with a call in progress is never evicted")
    func anHTTP2ConnectionWithACallIsNeverEvicted() throws {
        let gate = Gate()
        let serving = ClosureResponder { _ in
            await gate.pass()
            return Response(status: 200)
        }
        let connection = try EmbeddedHTTP2Connection(serving) { $0.connectionLimit = connectionLimit }
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/a")), .headers(3, HTTP2Fixture.post("/b"), end: false))
        #expect(!evict(on: connection.loop, after: .seconds(10)))
        // The call of a reset stream continues.
        try connection.send(.reset(1))
        #expect(!evict(on: connection.loop, after: .seconds(10)))
        gate.open()
        connection.loop.run()
        #expect(!evict(on: connection.loop, after: .seconds(4)))
        #expect(evict(on: connection.loop, after: .seconds(1)))
    }

    @Test("A request that waits for its turn protects a used HTTP/2 connection")
    func aWaitingRequestProtectsAUsedConnection() throws {
        let connection = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/a")))
        connection.loop.advanceTime(by: .seconds(30))
        _ = try connection.written()
        // The pings use up the turn.
        let pings = [FrameClient.Frame](repeating: .ping, count: TurnScheduler.unitsPerTurn)
        let request = FrameClient.Frame.headers(3, HTTP2Fixture.get("/b"))
        try connection.receive((pings + [request]).flatMap(\.bytes))
        #expect(connectionLimit.idleConnections(on: connection.loop).removeCandidate() == nil)
        #expect(try connection.written() == ["200 on 3", "/b on 3"])
    }
}
