import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import ExternalProcess

@Suite("connections to the process")
struct DialoguePoolTests {
    private static let accepted = #""verdict":"accepted","user":"alice""#

    @Test("says hello, asks one thing at a time, and asks again on the same connection")
    func oneAtATime() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let first = try bench.ask()
        let second = try bench.ask()
        #expect(try bench.sent() == [#"{"type":"hello","versions":[1],"gateway":"notify-gateway"}"#])
        try bench.say(PoolBench.hello)
        let asked = try bench.sent()
        #expect(
            asked == [
                #"{"type":"request","id":"\#(first.id)","kind":"password","user":"alice","password":"secret","#
                    + #""peer":"192.0.2.1","timeout-ms":5000}"#
            ])
        bench.loop.advanceTime(by: .seconds(2))
        try bench.answer(first, Self.accepted)
        #expect(first.verdict == .accepted(user: "alice", groups: []))
        // The second has waited for two of its five seconds.
        #expect(try bench.sent().first?.contains(#""id":"\#(second.id)""#) == true)
        #expect(second.verdict == nil)
        try bench.answer(second, #""verdict":"rejected""#)
        #expect(second.verdict == .rejected(.wrong))
        #expect(bench.attempts == 1)
    }

    @Test("tells the process how much time is left")
    func timeLeft() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        _ = try bench.ask()
        bench.loop.advanceTime(by: .milliseconds(1500))
        try bench.say(PoolBench.hello)
        #expect(try bench.sent().last?.hasSuffix(#""timeout-ms":3500}"#) == true)
    }

    @Test("makes as many connections as are needed, and no more than are allowed")
    func severalConnections() throws {
        let bench = PoolBench(connections: 2)
        defer { bench.finish() }
        let logins = try (0..<5).map { _ in try bench.ask() }
        #expect(bench.attempts == 2)
        try bench.say(PoolBench.hello, on: 1)
        try bench.answer(logins[0], Self.accepted, on: 1)
        #expect(logins[0].verdict != nil)
        #expect(bench.attempts == 2)
    }

    @Test("one login more than may wait is told at once")
    func fullQueue() throws {
        let bench = PoolBench(queue: 2)
        defer { bench.finish() }
        let logins = try (0..<3).map { _ in try bench.ask() }
        #expect(logins.map(\.verdict) == [nil, nil, .unavailable(.busy)])
    }

    @Test("a login that is not answered in time ends, and what comes later reaches nobody")
    func lateVerdict() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let slow = try bench.ask()
        try bench.say(PoolBench.hello)
        bench.loop.advanceTime(by: .milliseconds(4999))
        #expect(slow.verdict == nil)
        let next = try bench.ask()
        bench.loop.advanceTime(by: .milliseconds(1))
        #expect(slow.verdict == .unavailable(.timedOut))
        #expect(!bench.channels[0].isActive)
        // The next one has a connection of its own, on which nothing old can come.
        try bench.say(PoolBench.hello, on: 1)
        try bench.answer(next, Self.accepted, on: 1)
        #expect(next.verdict == .accepted(user: "alice", groups: []))
    }

    @Test("a login that gets no connection in time ends")
    func waitingTooLong() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let first = try bench.ask()
        try bench.say(PoolBench.hello)
        bench.loop.advanceTime(by: .seconds(1))
        let waiting = try bench.ask()
        try bench.answer(first, Self.accepted)
        bench.loop.advanceTime(by: .seconds(5))
        #expect(waiting.verdict == .unavailable(.timedOut))
    }

    @Test("a process that never says hello is given up")
    func silent() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let login = try bench.ask()
        bench.loop.advanceTime(by: .seconds(5))
        #expect(login.verdict == .unavailable(.timedOut))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "anything but the verdict that is owed closes the connection and lets nobody in",
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
        let bench = PoolBench()
        defer { bench.finish() }
        let login = try bench.ask()
        try bench.say(PoolBench.hello)
        try bench.say(frame.replacing("ID", with: login.id))
        #expect(login.verdict == .unavailable(.failed))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "bytes that are no frame close the connection",
        arguments: [[0, 0, 0, 0], [0, 1, 0, 1], [255, 255, 255, 255], [128, 0, 0, 0]] as [[UInt8]])
    func framing(_ bytes: [UInt8]) throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let login = try bench.ask()
        try bench.say(PoolBench.hello)
        #expect(throws: (any Error).self) {
            try bench.send(ByteBuffer(bytes: bytes))
            try bench.channels[0].throwIfErrorCaught()
            throw ProtocolFault.frameLength(0)
        }
        #expect(login.verdict == .unavailable(.failed))
        #expect(!bench.channels[0].isActive)
    }

    @Test(
        "what is no hello of this version ends the dialogue before anything is asked",
        arguments: [
            #"{"type":"hello","version":2,"name":"x","takes":["password"]}"#,
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
        let bench = PoolBench()
        defer { bench.finish() }
        let login = try bench.ask()
        try bench.say(hello)
        #expect(login.verdict == .unavailable(.failed))
        #expect(try bench.sent().count == 1)
        #expect(!bench.channels[0].isActive)
    }

    @Test("a verdict that nobody asked for closes the connection, and the next login is not answered by it")
    func unsolicited() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let first = try bench.ask()
        try bench.say(PoolBench.hello)
        // Two verdicts on one request: the first counts, the second is garbage.
        try bench.answer(first, #""verdict":"rejected""#)
        try bench.answer(first, Self.accepted)
        #expect(first.verdict == .rejected(.wrong))
        #expect(!bench.channels[0].isActive)
    }

    @Test("a frame that breaks off is a fault, and so is an end that owes a verdict")
    func brokenOff() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let first = try bench.ask()
        try bench.say(PoolBench.hello)
        try bench.send(ByteBuffer(bytes: [0, 0, 0, 50, 0x7B]))
        bench.hangUp()
        #expect(first.verdict == .unavailable(.failed))
    }

    @Test("a kind that the process does not take is not its own")
    func otherKind() throws {
        let bench = PoolBench()
        defer { bench.finish() }
        let token = try bench.ask(.bearer(token: Secret("token".utf8)))
        try bench.say(PoolBench.hello)
        #expect(token.verdict == .notMine)
        #expect(try bench.sent().count == 1)
        let password = try bench.ask()
        try bench.answer(password, Self.accepted)
        #expect(password.verdict == .accepted(user: "alice", groups: []))
    }
}
