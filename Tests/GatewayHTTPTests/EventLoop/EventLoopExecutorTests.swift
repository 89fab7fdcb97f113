import GatewayCore
import GatewaySupport
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of the executor, the deadline timer and the call ids of a loop.
@Suite struct EventLoopExecutorTests {
    @Test("A task runs on the loop after every suspension") func aTaskRunsOnTheLoopAfterEverySuspension() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
        let places = await Task(executorPreference: executor) {
            var places = [loop.inEventLoop]
            for _ in 0..<3 {
                await Task.yield()
                places.append(loop.inEventLoop)
                // A suspension that a thread of the system ends.
                try? await Task.sleep(nanoseconds: 1)
                places.append(loop.inEventLoop)
            }
            return places
        }.value
        #expect(places == Array(repeating: true, count: 7))
    }

    @Test("Tasks that wake each other do not block the loop")
    func tasksThatWakeEachOtherDoNotBlockTheLoop() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
        // This would never end if all iterations ran within one tick of the loop.
        let task = Task(executorPreference: executor) { while !Task.isCancelled { await Task.yield() } }
        try await loop.scheduleTask(in: .milliseconds(1)) { task.cancel() }.futureResult.get()
        await task.value
    }

    @Test("The loops of a group with tick counters count their ticks")
    func theLoopsOfAGroupWithTickCountersCountTheirTicks() async throws {
        let group = try await EventLoopScheduler.makeGroup(threads: 2)
        for loop in group.makeIterator() {
            let before = try await loop.submit { EventLoopTick.current?.completed }.get()
            // A task from another thread may run in the same tick as the previous one.
            var after = before
            for _ in 0..<1000 where after == before {
                after = try await loop.submit { EventLoopTick.current?.completed }.get()
            }
            #expect(before != nil && after != before)
        }
        try await group.shutdownGracefully()
        let others = try await MultiThreadedEventLoopGroup.singleton.next().submit { EventLoopTick.current == nil }
            .get()
        #expect(others)
    }

    @Test("A deadline that is postponed expires once") func aDeadlineThatIsPostponedExpiresOnce() {
        let loop = EmbeddedEventLoop()
        var passed: [NIODeadline] = []
        let timer = DeadlineTimer(on: loop)
        timer.setExpiryHandler { passed.append(loop.now) }
        let start = loop.now
        timer.set(start + .seconds(10))
        loop.advanceTime(by: .seconds(5))
        timer.set(start + .seconds(20))
        loop.advanceTime(by: .seconds(14))
        #expect(passed.isEmpty)
        loop.advanceTime(by: .seconds(1))
        #expect(passed == [start + .seconds(20)])
        loop.advanceTime(by: .seconds(60))
        #expect(passed.count == 1)
    }

    @Test("A deadline that is moved to an earlier time expires in time")
    func aDeadlineThatIsMovedToAnEarlierTimeExpiresInTime() {
        let loop = EmbeddedEventLoop()
        var passed = 0
        let timer = DeadlineTimer(on: loop)
        timer.setExpiryHandler { passed += 1 }
        timer.set(loop.now + .seconds(60))
        timer.set(loop.now + .seconds(10))
        loop.advanceTime(by: .seconds(10))
        #expect(passed == 1)
        timer.set(loop.now + .seconds(10))
        timer.set(nil)
        loop.advanceTime(by: .seconds(100))
        timer.set(loop.now + .seconds(10))
        timer.stop()
        loop.advanceTime(by: .seconds(100))
        #expect(passed == 1)
    }

    @Test("The ids of two loops differ") func theIdsOfTwoLoopsDiffer() {
        var (left, right) = (CallIDGenerator(), CallIDGenerator())
        var ids: Set<CallID> = []
        for _ in 0..<1000 {
            ids.insert(left.next())
            ids.insert(right.next())
        }
        #expect(ids.count == 2000)
        #expect(Set(ids.map(\.process)).count == 1)
    }
}
