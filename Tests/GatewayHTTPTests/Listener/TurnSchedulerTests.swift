import GatewayCore
import NIOCore
import NIOEmbedded
import Testing

@testable import GatewayHTTP

/// Tests of the order and the bounds of turns, without connections.
@Suite struct TurnSchedulerTests {
    private static func network(_ address: UInt32) -> TurnOwner { .network(.v4(address)) }

    /// A connection that has input for a number of turns.
    private final class Taker: TurnTaker {
        let name: String
        private let owner: TurnOwner
        private let scheduler: TurnScheduler
        private var turns: Int
        private let log: Log

        init(_ name: String, of owner: TurnOwner, turns: Int, on scheduler: TurnScheduler, log: Log) {
            (self.name, self.owner, self.scheduler, self.turns, self.log) = (name, owner, scheduler, turns, log)
            scheduler.enqueue(self, of: owner)
        }

        func takeTurn(units: Int) -> Int {
            log.names.append(name)
            log.work()
            turns -= 1
            if turns > 0 { scheduler.enqueue(self, of: owner) }
            return units
        }
    }

    /// The turns that were taken. For one thread.
    private final class Log {
        var names: [String] = []
        /// Runs in each turn.
        var work: () -> Void = {}
    }

    @Test("An element waits for one element of each other owner, however many these have")
    func queue() {
        var queue = TurnQueue<String>()
        for number in 0..<1000 { queue.append("a\(number)", of: Self.network(1)) }
        for number in 0..<1000 { queue.append("b\(number)", of: Self.network(2)) }
        queue.append("c", of: Self.network(3))
        #expect((0..<5).map { _ in queue.popFirst() } == ["a0", "b0", "c", "a1", "b1"])
        queue.append("d", of: Self.network(3))
        #expect((0..<3).map { _ in queue.popFirst() } == ["a2", "b2", "d"])
        var left = 0
        while queue.popFirst() != nil { left += 1 }
        #expect(left == 2 * 997)
        #expect(queue.isEmpty)
    }

    @Test("The connections of a network share its turns; connections without a network have their own")
    func owners() {
        let (loop, log) = (EmbeddedEventLoop(), Log())
        let scheduler = TurnScheduler(on: loop, tick: nil)
        let proxies = [Log(), Log()]
        for number in 0..<3 { _ = Taker("a\(number)", of: Self.network(1), turns: 2, on: scheduler, log: log) }
        for proxy in proxies {
            _ = Taker("p", of: .connection(ObjectIdentifier(proxy)), turns: 2, on: scheduler, log: log)
        }
        _ = Taker("b", of: Self.network(2), turns: 1, on: scheduler, log: log)
        loop.run()
        #expect(log.names == ["a0", "p", "p", "b", "a1", "p", "p", "a2", "a0", "a1", "a2"])
        loop.end()
    }

    @Test("No turn begins after the time of a tick is over, and the next tick begins with a turn")
    func time() {
        let (loop, log, tick) = (EmbeddedEventLoop(), Log(), EventLoopTick())
        let scheduler = TurnScheduler(on: loop, tick: tick)
        // Each turn takes longer than a tick may take. The loop advances its clock only between tasks.
        log.work = { scheduler.spend(units: 0, time: TurnScheduler.timePerTick) }
        _ = Taker("a", of: Self.network(1), turns: 3, on: scheduler, log: log)
        _ = Taker("b", of: Self.network(2), turns: 1, on: scheduler, log: log)
        loop.run()
        #expect(log.names == ["a"])
        #expect(scheduler.unitsForArrival() == 0)
        // The tick is not complete; its tasks run again.
        loop.advanceTime(by: TurnScheduler.pause)
        #expect(log.names == ["a"])
        for names in [["a", "b"], ["a", "b", "a"], ["a", "b", "a", "a"]] {
            tick.complete(at: .now(), tasksBegan: .now())
            loop.advanceTime(by: TurnScheduler.pause)
            #expect(log.names == names)
        }
        #expect(scheduler.unitsForArrival() == 0)
        tick.complete(at: .now(), tasksBegan: .now())
        #expect(scheduler.unitsForArrival() == TurnScheduler.unitsPerTurn)
        loop.end()
    }

    @Test("While too many bytes wait, a network may hold no more than its equal share")
    func bytes() {
        let loop = EmbeddedEventLoop()
        let scheduler = TurnScheduler(on: loop, tick: nil)
        let limit = TurnScheduler.waitingBytesLimit
        #expect(scheduler.changeWaitingBytes(by: limit, of: Self.network(1)))
        #expect(scheduler.changeWaitingBytes(by: limit / 2, of: Self.network(2)))
        #expect(!scheduler.changeWaitingBytes(by: 1, of: Self.network(1)))
        #expect(!scheduler.changeWaitingBytes(by: 1, of: Self.network(2)))
        #expect(scheduler.changeWaitingBytes(by: limit / 3, of: Self.network(3)))
        #expect(scheduler.changeWaitingBytes(by: -limit - 1, of: Self.network(1)))
        #expect(scheduler.changeWaitingBytes(by: 1, of: Self.network(2)))
        #expect(scheduler.waitingBytes == limit / 2 + limit / 3 + 2)
        loop.end()
    }
}
