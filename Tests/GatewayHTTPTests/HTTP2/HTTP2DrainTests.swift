import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import GatewayHTTP

/// Tests of draining HTTP/2 connections: every request that the client sends before it reads the first GOAWAY is
/// served, and the last GOAWAY tells which later ones are not (RFC 9113, section 6.8).
@Suite struct HTTP2DrainTests {
    typealias Frame = FrameClient.Frame

    private static let firstGoAway = "goaway after 2147483647 by 0"

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

    @Test("Open streams complete, and streams on their way after the first GOAWAY are served")
    func openStreamsCompleteAndStreamsOnTheirWayAreServed() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")), .headers(3, HTTP2Fixture.get("/slow")))
        connection.shared.announceShutdown()
        #expect(try connection.written() == [], "Some clients fail open streams when they read GOAWAY")
        connection.loop.advanceTime(by: .seconds(2))
        #expect(try connection.frames().map(\.type) == [7, 6])
        let drained = connection.shared.drain(until: .distantFuture)
        try connection.send(.headers(5, HTTP2Fixture.get("/late")))
        #expect(try connection.written() == ["200 on 5", "/late on 5"])
        connection.answersPings = true
        connection.loop.advanceTime(by: .milliseconds(1999))
        #expect(try connection.written() == [])
        // The client does not answer the PING. Its requests had two seconds to arrive.
        connection.loop.advanceTime(by: .milliseconds(1))
        #expect(try connection.written() == ["goaway after 5 by 0"])
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        #expect(connection.isOpen)
        slow.gate.open()
        #expect(try connection.written() == ["200 on 3", "/slow on 3"])
        #expect(!connection.isOpen)
        connection.loop.run()
        try drained.wait()
    }

    @Test("The first GOAWAY comes as soon as no stream is open, with the last response")
    func theFirstGOAWAYComesAsSoonAsNoStreamIsOpen() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        connection.shared.announceShutdown()
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1", Self.firstGoAway])
        try connection.send(.headers(3, HTTP2Fixture.get("/late")))
        #expect(try connection.written() == ["200 on 3", "/late on 3"])
        #expect(connection.isOpen)
    }

    /// Later streams, valid or not, do not affect the open ones.
    @Test("Streams opened after the last GOAWAY are refused") func streamsOpenedAfterTheLastGOAWAYAreRefused() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        connection.answersPings = true
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        _ = connection.shared.drain(until: .distantFuture)
        connection.loop.advanceTime(by: .seconds(2))
        #expect(try connection.written() == [Self.firstGoAway, "goaway after 1 by 0"])
        try connection.send(.headers(3, HTTP2Fixture.get("/late")))
        try connection.send(.headers(5, HTTP2Fixture.post("/late"), end: false), .data(5, "body", end: false))
        try connection.send(.windowUpdate(5, 1000), .data(5, "body", end: false), .windowUpdate(3, 1000))
        #expect(try connection.written() == ["reset 3 by 7", "reset 5 by 7"])
        try connection.send(.headers(5, [("trailer", "x")]))
        try connection.send(.reset(3), .reset(5), .windowUpdate(0, 1000))
        try connection.send(.headers(7, HTTP2Fixture.get("/late"), end: true, endsHead: false))
        try connection.send(.continuation(7, [("a", "b")], endsHead: true))
        #expect(try connection.written().suffix(1) == ["reset 7 by 7"])
        #expect(connection.isOpen)
        #expect(connection.shared.callsInFlight == 1)
        slow.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        #expect(!connection.isOpen)
    }

    @Test("An incomplete body is awaited") func anIncompleteBodyIsAwaited() throws {
        let connection = try EmbeddedHTTP2Connection()
        connection.answersPings = true
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.post("/body"), end: false), .data(1, "a", end: false))
        _ = connection.shared.drain(until: .distantFuture)
        connection.loop.advanceTime(by: .seconds(2))
        #expect(try connection.written() == [Self.firstGoAway, "goaway after 1 by 0"])
        try connection.send(.data(1, "b"))
        #expect(try connection.written() == ["200 on 1", "/body on 1"])
        #expect(!connection.isOpen)
    }

    @Test(
        "A connection without open streams is told at once and stays until the drain", arguments: ["idle", "resetting"])
    func aConnectionWithoutOpenStreamsIsToldAtOnce(_ kind: String) throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        connection.answersPings = true
        try connection.begin()
        if kind == "idle" {
            try connection.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(try connection.written() == ["200 on 1", "/ on 1"])
        } else {
            try connection.send(.headers(1, HTTP2Fixture.get("/slow")), .reset(1))
        }
        connection.shared.announceShutdown()
        connection.shared.announceShutdown()
        #expect(try connection.written() == [Self.firstGoAway])
        #expect(connection.isOpen)
        _ = connection.shared.drain(until: .distantFuture)
        #expect(try connection.written() == ["goaway after 1 by 0"])
        #expect(!connection.isOpen)
        // A call whose client has left completes nevertheless.
        #expect(connection.shared.callsInFlight == (kind == "idle" ? 0 : 1))
        if kind != "idle" { slow.gate.open() }
        connection.loop.run()
        #expect(connection.shared.callsInFlight == 0)
    }

    @Test("A connection that is new during the grace is not told before the drain", arguments: [0, 1, 2])
    func aNewConnectionIsNotToldBeforeTheDrain(_ requests: UInt32) throws {
        let connection = try EmbeddedHTTP2Connection()
        connection.answersPings = true
        connection.shared.announceShutdown()
        try connection.begin()
        for number in 0..<requests {
            try connection.send(.headers(2 * number + 1, HTTP2Fixture.get("/")))
            #expect(try connection.written() == ["200 on \(2 * number + 1)", "/ on \(2 * number + 1)"])
        }
        _ = connection.shared.drain(until: .distantFuture)
        guard requests == 0 else {
            #expect(try connection.written() == [Self.firstGoAway, "goaway after \(2 * requests - 1) by 0"])
            #expect(!connection.isOpen)
            return
        }
        // Its first request may be on its way.
        #expect(try connection.written() == [])
        connection.loop.advanceTime(by: .milliseconds(1999))
        try connection.send(.headers(1, HTTP2Fixture.get("/first")))
        #expect(try connection.written() == ["200 on 1", "/first on 1", Self.firstGoAway, "goaway after 1 by 0"])
        #expect(!connection.isOpen)
    }

    @Test("A connection without a request is closed two seconds after the drain", arguments: [false, true])
    func aConnectionWithoutARequestIsClosed(_ sendsPreface: Bool) throws {
        let connection = try EmbeddedHTTP2Connection()
        if sendsPreface { try connection.begin() }
        let drained = connection.shared.drain(until: .distantFuture)
        connection.loop.advanceTime(by: .milliseconds(1999))
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .milliseconds(1))
        if sendsPreface { #expect(try connection.written() == ["goaway after 0 by 0"]) }
        #expect(!connection.isOpen)
        connection.loop.run()
        try drained.wait()
    }

    @Test("A drain waits for a connection that is being set up")
    func aDrainWaitsForAConnectionThatIsBeingSetUp() throws {
        let connection = try EmbeddedHTTP2Connection()
        connection.answersPings = true
        let drained = connection.shared.drain(until: .distantFuture)
        let isDrained = Mutex(false)
        drained.whenComplete { _ in isDrained.withLock { $0 = true } }
        connection.loop.advanceTime(by: .seconds(1))
        try connection.begin()
        connection.loop.run()
        #expect(!isDrained.withLock { $0 })
        try connection.send(.headers(1, HTTP2Fixture.get("/first")))
        #expect(try connection.written() == ["200 on 1", "/first on 1", Self.firstGoAway, "goaway after 1 by 0"])
        connection.loop.run()
        #expect(isDrained.withLock { $0 })
    }

    @Test("A call that exceeds the deadline loses its connection")
    func aCallThatExceedsTheDeadlineLosesItsConnection() throws {
        let slow = Slow()
        let connection = try EmbeddedHTTP2Connection(slow.serving)
        connection.answersPings = true
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/slow")))
        let drained = connection.shared.drain(until: connection.loop.now + .seconds(70))
        connection.loop.advanceTime(by: .seconds(69))
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .seconds(1))
        #expect(!connection.isOpen)
        try drained.wait()
        slow.gate.open()
        connection.loop.run()
        #expect(connection.shared.callsInFlight == 0)
    }

    @Test("An idle connection closes as in a drain, so that a request on its way is served")
    func anIdleConnectionClosesAsInADrain() throws {
        let connection = try EmbeddedHTTP2Connection()
        connection.answersPings = true
        try connection.begin()
        try connection.send(.headers(1, HTTP2Fixture.get("/")))
        _ = try connection.written()
        connection.answersPings = false
        connection.loop.advanceTime(by: .seconds(60))
        try connection.send(.headers(3, HTTP2Fixture.get("/late")))
        #expect(try connection.written() == [Self.firstGoAway, "200 on 3", "/late on 3"])
        connection.loop.advanceTime(by: .seconds(2))
        #expect(try connection.written() == ["goaway after 3 by 0"])
        #expect(!connection.isOpen)
    }
}
