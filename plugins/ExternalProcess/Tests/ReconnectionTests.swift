import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import ExternalProcess

@Suite("Reconnection to the process")
struct ReconnectionTests {
    private static let accepted = #""verdict":"accepted","user":"alice""#

    @Test("The delay doubles with each failure, up to a bound")
    func schedule() {
        var backOff = Backoff(initialDelay: .milliseconds(100), maximumDelay: .milliseconds(500))
        #expect((0..<5).map { _ in backOff.next().nanoseconds / 1_000_000 } == [100, 200, 400, 500, 500])
        backOff.reset()
        #expect(backOff.next() == .milliseconds(100))
    }

    @Test("Without a listener logins fail at once, and a connection is attempted only after the delay")
    func down() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        bench.isDown = true
        #expect(try bench.submit().verdict == .unavailable(.unreachable))
        #expect(bench.attempts == 1)
        let during = try bench.submit()
        #expect(during.verdict == nil)
        bench.loop.advanceTime(by: .milliseconds(99))
        #expect(bench.attempts == 1)
        bench.loop.advanceTime(by: .milliseconds(1))
        #expect(bench.attempts == 2)
        #expect(during.verdict == .unavailable(.unreachable))
        // The second delay is twice as long.
        let later = try bench.submit()
        bench.isDown = false
        bench.loop.advanceTime(by: .milliseconds(199))
        #expect(bench.attempts == 2)
        bench.loop.advanceTime(by: .milliseconds(1))
        try bench.say(PoolFixture.hello)
        try bench.answer(later, Self.accepted)
        #expect(later.verdict == .accepted(user: "alice", groups: []))
    }

    @Test("A connection that the process closed between logins is replaced without delay")
    func closedIdle() throws {
        let bench = PoolFixture()
        defer { bench.finish() }
        let first = try bench.submit()
        try bench.say(PoolFixture.hello)
        try bench.answer(first, Self.accepted)
        bench.hangUp()
        let second = try bench.submit()
        #expect(bench.attempts == 2)
        try bench.say(PoolFixture.hello, on: 1)
        try bench.answer(second, Self.accepted, on: 1)
        #expect(second.verdict == .accepted(user: "alice", groups: []))
    }

    @Test("A process that closes during a login fails that login and no other")
    func diesInTheMiddle() throws {
        let bench = PoolFixture(connections: 2)
        defer { bench.finish() }
        let logins = try (0..<2).map { _ in try bench.submit() }
        try bench.say(PoolFixture.hello, on: 0)
        try bench.say(PoolFixture.hello, on: 1)
        let waiting = try bench.submit()
        bench.hangUp(0)
        #expect(logins[0].verdict == .unavailable(.failed))
        #expect(logins[1].verdict == nil)
        try bench.answer(logins[1], Self.accepted, on: 1)
        #expect(logins[1].verdict == .accepted(user: "alice", groups: []))
        // The waiting login uses the remaining connection.
        try bench.answer(waiting, Self.accepted, on: 1)
        #expect(waiting.verdict == .accepted(user: "alice", groups: []))
    }

    @Test("A connection that breaks in a login is replaced without delay, also if it was the only one")
    func breaksInALogin() throws {
        let bench = PoolFixture(connections: 1)
        defer { bench.finish() }
        for number in 0..<10 {
            let broken = try bench.submit()
            let waiting = try bench.submit()
            try bench.say(PoolFixture.hello, on: 2 * number)
            bench.hangUp(2 * number)
            #expect(broken.verdict == .unavailable(.failed) && bench.attempts == 2 * number + 2)
            try bench.say(PoolFixture.hello, on: 2 * number + 1)
            try bench.answer(waiting, Self.accepted, on: 2 * number + 1)
            #expect(waiting.verdict == .accepted(user: "alice", groups: []))
            bench.hangUp(2 * number + 1)
        }
    }

    @Test("A closed pool completes all waiting logins and accepts no new one")
    func closed() throws {
        let bench = PoolFixture()
        let asked = try bench.submit()
        let waiting = try bench.submit()
        try bench.say(PoolFixture.hello)
        bench.finish()
        #expect(asked.verdict == .unavailable(.failed))
        #expect(waiting.verdict == .unavailable(.unreachable))
        #expect(try bench.submit().verdict == .unavailable(.unreachable))
        #expect(!bench.channels[0].isActive)
        #expect(bench.attempts == 1)
    }
}
