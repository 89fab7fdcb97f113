import GatewayCore
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayHTTP

/// The executor, the timer and the ids of a loop.
@Suite struct EventLoopExecutorTests {
    @Test func tasksRunOnTheLoopAfterEveryWait() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
        let places = await Task(executorPreference: executor) {
            var places = [loop.inEventLoop]
            for _ in 0..<3 {
                await Task.yield()
                places.append(loop.inEventLoop)
                // A wait of another kind: its end comes from a thread of the system's.
                try? await Task.sleep(nanoseconds: 1)
                places.append(loop.inEventLoop)
            }
            return places
        }.value
        #expect(places == Array(repeating: true, count: 7))
    }

    @Test func tasksThatWakeEachOtherDoNotKeepTheLoop() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
        // It would never end if its turns ran within one turn of the loop.
        let task = Task(executorPreference: executor) { while !Task.isCancelled { await Task.yield() } }
        try await loop.scheduleTask(in: .milliseconds(1)) { task.cancel() }.futureResult.get()
        await task.value
    }

    @Test func turnsAreCountedOnTheLoopsOfAGroupThatWasMadeForIt() async throws {
        let group = try await EventLoopScheduler.makeGroup(threads: 2)
        for loop in group.makeIterator() {
            let before = try await loop.submit { EventLoopTick.current?.ended }.get()
            // A task that comes from elsewhere may find the loop in the turn of the one before.
            var after = before
            for _ in 0..<1000 where after == before {
                after = try await loop.submit { EventLoopTick.current?.ended }.get()
            }
            #expect(before != nil && after != before)
        }
        try await group.shutdownGracefully()
        let others = try await MultiThreadedEventLoopGroup.singleton.next().submit { EventLoopTick.current == nil }
            .get()
        #expect(others)
    }

    @Test func aDeadlineThatMovesOnPassesOnce() {
        let loop = EmbeddedEventLoop()
        var passed: [NIODeadline] = []
        let timer = DeadlineTimer(on: loop)
        timer.start { passed.append(loop.now) }
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

    @Test func aDeadlineThatMovesAheadPassesInTime() {
        let loop = EmbeddedEventLoop()
        var passed = 0
        let timer = DeadlineTimer(on: loop)
        timer.start { passed += 1 }
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

    @Test func idsOfTwoLoopsNeverMeet() {
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
