import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded
import Testing

@testable import ExternalProcess

@Suite("Connections to the process")
struct ProcessConnectionPoolTests {
    private static let accepted = #""verdict":"accepted","user":"alice""#

    @Test("A connection exchanges hellos, carries one request at a time, and is reused")
    func oneAtATime() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let first = try bench.submit()
        let second = try bench.submit()
        #expect(try bench.sent() == [#"{"type":"hello","versions":[1,2],"gateway":"notify-gateway"}"#])
        try bench.say(PoolFixture.hello)
        let asked = try bench.sent()
        #expect(
            asked == [
                #"{"type":"request","id":"\#(first.id)","kind":"password","user":"alice","password":"secret","#
                    + #""peer":"192.0.2.1","timeout-ms":5000}"#
            ])
        bench.loop.advanceTime(by: .seconds(2))
        try bench.answer(first, Self.accepted)
        #expect(first.verdict == .accepted(user: "alice", groups: []))
        // The second request has waited for two of its five seconds.
        #expect(try bench.sent().first?.contains(#""id":"\#(second.id)""#) == true)
        #expect(second.verdict == nil)
        try bench.answer(second, #""verdict":"rejected""#)
        #expect(second.verdict == .rejected(.wrong))
        #expect(bench.attempts == 1)
    }

    @Test("A request tells the process the remaining time")
    func timeLeft() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        _ = try bench.submit()
        bench.loop.advanceTime(by: .milliseconds(1500))
        try bench.say(PoolFixture.hello)
        #expect(try bench.sent().last?.hasSuffix(#""timeout-ms":3500}"#) == true)
    }

    @Test("As many connections are opened as are needed, up to the limit")
    func severalConnections() throws {
        let bench = PoolFixture(connections: 2)
        defer { bench.finish() }
        let logins = try (0..<5).map { _ in try bench.submit() }
        #expect(bench.attempts == 2)
        try bench.say(PoolFixture.hello, on: 1)
        try bench.answer(logins[0], Self.accepted, on: 1)
        #expect(logins[0].verdict != nil)
        #expect(bench.attempts == 2)
    }

    @Test("A login beyond the queue's limit fails at once")
    func fullQueue() throws {
        let bench = PoolFixture(queue: 2)
        defer { bench.finish() }
        let logins = try (0..<3).map { _ in try bench.submit() }
        #expect(logins.map(\.verdict) == [nil, nil, .unavailable(.busy)])
    }

    @Test("A login without a verdict in time completes, and a late verdict is ignored")
    func lateVerdict() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let slow = try bench.submit()
        try bench.say(PoolFixture.hello)
        bench.loop.advanceTime(by: .milliseconds(4999))
        #expect(slow.verdict == nil)
        let next = try bench.submit()
        bench.loop.advanceTime(by: .milliseconds(1))
        #expect(slow.verdict == .unavailable(.timedOut))
        #expect(!bench.channels[0].isActive)
        // The next login has a new connection, on which the late verdict cannot arrive.
        try bench.say(PoolFixture.hello, on: 1)
        try bench.answer(next, Self.accepted, on: 1)
        #expect(next.verdict == .accepted(user: "alice", groups: []))
    }

    @Test("A login that gets no connection in time completes")
    func waitingTooLong() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let first = try bench.submit()
        try bench.say(PoolFixture.hello)
        bench.loop.advanceTime(by: .seconds(1))
        let waiting = try bench.submit()
        try bench.answer(first, Self.accepted)
        bench.loop.advanceTime(by: .seconds(5))
        #expect(waiting.verdict == .unavailable(.timedOut))
    }

    @Test("A process that sends no hello is disconnected")
    func silent() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let login = try bench.submit()
        bench.loop.advanceTime(by: .seconds(5))
        #expect(login.verdict == .unavailable(.unreachable))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "Anything but the expected verdict closes the connection and fails the login",
        arguments: [
            #"{"type":"verdict","id":"00000000000000000000000000000000","verdict":"accepted","user":"alice"}"#,
            #"{"type":"verdict","verdict":"accepted","user":"alice"}"#,
            #"{"type":"verdict","id":1,"verdict":"accepted","user":"alice"}"#,
            #"{"type":"verdict","id":"ID","verdict":"Accepted","user":"alice"}"#,
            #"{"type":"verdict","id":"ID","verdict":"accepted"}"#,
            #"{"type":"verdict","id":"ID","verdict":"accepted","user":""}"#,
            #"{"type":"verdict","id":"ID","verdict":"accepted","user":["alice"]}"#,
            #"{"type":"verdict","id":"ID","verdict":"accepted","user":"alice","groups":"dispatch"}"#,
            #"{"type":"verdict","id":"ID","verdict":"accepted","user":"alice","groups":[1]}"#,
            #"{"type":"verdict","id":"ID","verdict":"rejected","verdict":"accepted","user":"alice"}"#,
            #"{"type":"verdict","id":"ID","verdict":"rejected","Verdict":"accepted","user":"alice"}"#,
            #"{"type":"verdict","id":"ID","verdict":true,"user":"alice"}"#,
            #"{"type":"verdict","id":"ID"}"#,
            #"{"type":"hello","version":1,"name":"again","takes":["password"]}"#,
            #"{"id":"ID","verdict":"accepted","user":"alice"}"#,
            "[]", "null", "accepted", "{", "{}{}", "\u{0}",
        ])
    func garbage(_ frame: String) throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let login = try bench.submit()
        try bench.say(PoolFixture.hello)
        try bench.say(frame.replacing("ID", with: login.id))
        #expect(login.verdict == .unavailable(.failed))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "An invalid frame length closes the connection",
        arguments: [[0, 0, 0, 0], [0, 1, 0, 1], [255, 255, 255, 255], [128, 0, 0, 0]] as [[UInt8]])
    func framing(_ bytes: [UInt8]) throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let login = try bench.submit()
        try bench.say(PoolFixture.hello)
        #expect(throws: (any Error).self) {
            try bench.send(ByteBuffer(bytes: bytes))
            try bench.channels[0].throwIfErrorCaught()
            throw ProtocolError.frameLength(0)
        }
        #expect(login.verdict == .unavailable(.failed))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "An invalid hello closes the connection before a request is sent",
        arguments: [
            #"{"type":"hello","version":3,"name":"x","takes":["password"]}"#,
            #"{"type":"hello","version":0,"name":"x","takes":["password"]}"#,
            #"{"type":"hello","version":"1","name":"x","takes":["password"]}"#,
            #"{"type":"hello","version":1.0,"name":"x","takes":["password"]}"#,
            #"{"type":"hello","name":"x","takes":["password"]}"#,
            #"{"type":"hello","version":1,"takes":["password"]}"#,
            #"{"type":"hello","version":1,"name":"","takes":["password"]}"#,
            #"{"type":"hello","version":1,"name":"x","takes":"password"}"#,
            #"{"type":"hello","version":1,"name":"x","takes":[1]}"#,
            #"{"type":"verdict","version":1,"name":"x","takes":["password"]}"#,
        ])
    func badHello(_ hello: String) throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let login = try bench.submit()
        try bench.say(hello)
        #expect(login.verdict == .unavailable(.unreachable))
        #expect(try bench.sent().count == 1)
        #expect(!bench.channels[0].isActive)
    }

    @Test("An unsolicited verdict closes the connection and does not complete the next login")
    func unsolicited() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let first = try bench.submit()
        try bench.say(PoolFixture.hello)
        // Two verdicts on one request: the first is accepted, the second is unsolicited.
        try bench.answer(first, #""verdict":"rejected""#)
        try bench.answer(first, Self.accepted)
        #expect(first.verdict == .rejected(.wrong))
        #expect(!bench.channels[0].isActive)
    }

    @Test("A truncated frame and a closure before the verdict fail the login")
    func brokenOff() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let first = try bench.submit()
        try bench.say(PoolFixture.hello)
        try bench.send(ByteBuffer(bytes: [0, 0, 0, 50, 0x7B]))
        bench.hangUp()
        #expect(first.verdict == .unavailable(.failed))
    }

    @Test("A kind that the process does not accept is left to other authenticators")
    func otherKind() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let token = try bench.submit(.bearer(token: Secret("token".utf8)))
        try bench.say(PoolFixture.hello)
        #expect(token.verdict == .notMine)
        #expect(try bench.sent().count == 1)
        let password = try bench.submit()
        try bench.answer(password, Self.accepted)
        #expect(password.verdict == .accepted(user: "alice", groups: []))
    }
}
