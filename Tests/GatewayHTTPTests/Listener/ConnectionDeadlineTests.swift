import Gateway
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of the deadlines of a connection with a manual clock.
@Suite struct ConnectionDeadlineTests {
    private static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n"

    @Test("A connection without a byte is closed without a response")
    func aConnectionWithoutAByteIsClosedWithoutAResponse() throws {
        let connection = try EmbeddedConnection()
        connection.loop.advanceTime(by: .milliseconds(9999))
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .milliseconds(1))
        #expect(!connection.isOpen)
        #expect(try connection.written() == "")
    }

    @Test("A head has ten seconds, however slowly its bytes arrive")
    func aHeadHasTenSecondsHoweverSlowlyItsBytesArrive() throws {
        let connection = try EmbeddedConnection()
        connection.loop.advanceTime(by: .seconds(5))
        for byte in Self.get.prefix(9) {
            try connection.send(String(byte))
            connection.loop.advanceTime(by: .seconds(1))
        }
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .seconds(1))
        #expect(try connection.answers() == ["408 request-timeout close"])
        #expect(!connection.isOpen)
    }

    @Test("A body has thirty seconds, however slowly its bytes arrive")
    func aBodyHasThirtySecondsHoweverSlowlyItsBytesArrive() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.post)
        for _ in 0..<29 {
            try connection.send("x")
            connection.loop.advanceTime(by: .seconds(1))
        }
        #expect(connection.isOpen)
        connection.loop.advanceTime(by: .seconds(1))
        #expect(try connection.answers() == ["408 request-timeout close"])
        #expect(!connection.isOpen)
    }

    @Test("A connection may be idle for sixty seconds each time")
    func aConnectionMayBeIdleForSixtySecondsEachTime() throws {
        let connection = try EmbeddedConnection()
        for _ in 0..<3 {
            try connection.send(Self.get)
            #expect(try connection.answers() == ["200 /a"])
            connection.loop.advanceTime(by: .seconds(59))
            #expect(connection.isOpen)
        }
        connection.loop.advanceTime(by: .seconds(1))
        #expect(!connection.isOpen)
        #expect(try connection.written() == "")
    }

    @Test("The head of a later request has ten seconds") func theHeadOfALaterRequestHasTenSeconds() throws {
        let connection = try EmbeddedConnection()
        try connection.send(Self.get)
        connection.loop.advanceTime(by: .seconds(30))
        try connection.send("G")
        connection.loop.advanceTime(by: .seconds(10))
        #expect(try connection.answers() == ["200 /a", "408 request-timeout close"])
    }

    @Test("A call in progress has no deadline here") func aCallInProgressHasNoDeadlineHere() throws {
        let gate = Gate()
        let connection = try EmbeddedConnection(
            ClosureResponder { _ in
                await gate.pass()
                return Response(status: 200)
            })
        try connection.send(Self.get + "GET")
        connection.loop.advanceTime(by: .hours(1))
        #expect(connection.isOpen)
        gate.open()
        connection.loop.run()
        #expect(try connection.answers() == ["200 "])
        // The next head began while the connection was not read; its deadline starts now.
        connection.loop.advanceTime(by: .seconds(10))
        #expect(try connection.answers() == ["408 request-timeout close"])
    }

    @Test("Bytes before a late response do not extend the deadline of a head")
    func bytesBeforeALateResponseDoNotExtendTheDeadlineOfAHead() throws {
        let connection = try EmbeddedConnection()
        try connection.send("\r\n")
        connection.loop.advanceTime(by: .seconds(10))
        #expect(!connection.isOpen)
        #expect(try connection.written() == "")
    }
}
