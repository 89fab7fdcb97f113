import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of draining HTTP/2 connections: open streams get their responses, later streams are not processed, and GOAWAY
/// tells the client which is which (RFC 9113, section 6.8).
@Suite struct HTTP2DrainTests {
    typealias Frame = FrameClient.Frame

    /// Holds requests for `/slow` and counts all requests.
    private final class Slow {
        let gate = Gate()

        var serving: ClosureResponder {
            ClosureResponder { [gate] request in
                if request.path.readableBytesView.elementsEqual("/slow".utf8) { await gate.pass() }
                return Response(status: 200, body: Array(request.path.readableBytesView))
            }
        }
    }

    @Test("Calls in progress complete and then the connection closes")
    func callsInProgressCompleteAndThenTheConnectionCloses() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")), .headers(3, HTTP2Fixture.get("/slow")))
        #expect(slow.gate.count == 2)
        connection.shared.announceShutdown()
        #expect(try connection.written() == ["goaway after 3 by 0"])
        #expect(connection.isOpen)
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        #expect(connection.isOpen)
        slow.gate.open()
        #expect(try connection.written() == ["200 on 3", "/slow on 3"])
        #expect(!connection.isOpen)
    }

    /// Later streams, valid or not, do not affect the open ones.
    @Test("Streams opened after GOAWAY are not processed") func streamsOpenedAfterGOAWAYAreNotProcessed() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        connection.shared.announceShutdown()
        #expect(try connection.written() == ["goaway after 1 by 0"])
        try connection.send(.headers(3, HTTP2Fixture.get("/late")))
        try connection.send(.headers(5, HTTP2Fixture.post("/late"), end: false), .data(5, "body", end: false))
        try connection.send(.windowUpdate(5, 1000), .data(5, "body"), .windowUpdate(3, 1000))
        try connection.send(.reset(3), .reset(5), .windowUpdate(0, 1000))
        try connection.send(.headers(7, HTTP2Fixture.get("/late"), end: true, endsHead: false))
        try connection.send(.continuation(7, [("a", "b")], endsHead: true))
        #expect(try connection.written() == [])
        #expect(connection.isOpen)
        #expect(connection.shared.callsInFlight == 1)
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        #expect(!connection.isOpen)
    }

    @Test("An incomplete body is awaited") func anIncompleteBodyIsAwaited() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.post("/body"), end: false), .data(1, "a", end: false))
        connection.shared.announceShutdown()
        #expect(try connection.written() == ["goaway after 1 by 0"])
        try connection.send(.data(1, "b"))
        #expect(try connection.written() == ["200 on 1", "/body on 1"])
        #expect(!connection.isOpen)
    }

    @Test("A connection without open streams closes at once", arguments: ["idle", "resetting"])
    func aConnectionWithoutOpenStreamsClosesAtOnce(_ kind: String) throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        if kind == "idle" {
            try connection.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(try connection.written() == ["200 on 1", "/ on 1"])
        } else {
            try connection.send(.headers(1, HTTP2Fixture.get("/slow")), .reset(1))
        }
        connection.shared.announceShutdown()
        #expect(try connection.written() == ["goaway after 1 by 0"])
        #expect(!connection.isOpen)
        // A call whose client has left completes nevertheless.
        #expect(connection.shared.callsInFlight == (kind == "idle" ? 0 : 1))
        if kind != "idle" { slow.gate.open() }
        connection.loop.run()
        #expect(connection.shared.callsInFlight == 0)
    }

    /// A new connection may have a request on its way, so it may send one request after any announcement.
    @Test("A new connection may send one request", arguments: ["before the preface", "before the first stream"])
    func aNewConnectionMaySendOneRequest(_ moment: String) throws {
        let connection = try EmbeddedHTTP2Connection()
        if moment == "before the preface" { connection.shared.announceShutdown() }
        try connection.begin()
        if moment != "before the preface" { connection.shared.announceShutdown() }
        #expect(try connection.written() == [])
        try connection.send(.headers(1, HTTP2Fixture.post("/first"), end: false))
        #expect(try connection.written() == ["goaway after 1 by 0"])
        try connection.send(.data(1, "x"), .headers(3, HTTP2Fixture.get("/second")))
        #expect(try connection.written() == ["200 on 1", "/first on 1"])
        #expect(!connection.isOpen)
    }

    @Test("A drain closes a new connection without a request")
    func aDrainClosesANewConnectionWithoutARequest() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        connection.shared.announceShutdown()
        let drained = connection.shared.drain(until: .distantFuture)
        #expect(try connection.written() == ["goaway after 0 by 0"])
        #expect(!connection.isOpen)
        connection.loop.run()
        try drained.wait()
    }

    @Test("GOAWAY is sent once") func goawayIsSentOnce() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        connection.shared.announceShutdown()
        connection.shared.announceShutdown()
        let drained = connection.shared.drain(until: .distantFuture)
        #expect(try connection.written() == ["goaway after 1 by 0"])
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        connection.loop.run()
        try drained.wait()
    }

    @Test("A call that exceeds the deadline loses its connection")
    func aCallThatExceedsTheDeadlineLosesItsConnection() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        let drained = connection.shared.drain(until: connection.loop.now + .seconds(70))
        connection.loop.advanceTime(by: .seconds(69))
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .seconds(1))
        #expect(!connection.isOpen)
        try drained.wait()
        #expect(try connection.written() == ["goaway after 1 by 0"])
        slow.gate.open()
        #expect(try connection.written() == [])
        #expect(connection.shared.callsInFlight == 0)
    }
}
