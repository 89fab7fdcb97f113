import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

/// Runs tasks on an event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// A counter shared by threads.
private final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .acquiringAndReleasing) }
}

@Suite("Journal: batching", .timeLimit(.minutes(5)))
struct JournalBatchingTests {
    @Test("Notes wait briefly for other records, and calls do not wait")
    func gathering() async throws {
        let queue = JournalQueue(limit: 100)
        let clock = ContinuousClock()
        queue.append(Fixture.rejection(1))
        let alone = clock.measure { queue.waitForWork(atMost: nil) }
        #expect(alone >= JournalQueue.maximumBatchDelay)
        #expect(queue.dequeueAll().items.count == 1)

        var shortest = Duration.seconds(60)
        for number in 0..<20 {
            queue.append(Fixture.rejection(number))
            // The immediate task returns here once its record is queued.
            let answer = Task.immediate { await Self.record(number, in: queue) }
            #expect(queue.load.queued == 2)
            shortest = min(shortest, clock.measure { queue.waitForWork(atMost: nil) })
            let items = queue.dequeueAll().items
            #expect(items.count == 2)
            JournalWaiter.resume(.success(()), for: items)
            await answer.value
        }
        #expect(shortest < JournalQueue.maximumBatchDelay)
    }

    @Test("A call or a close ends the wait of notes")
    func company() async throws {
        for isClosing in [false, true] {
            let queue = JournalQueue(limit: 100)
            let returned = Signal()
            let writer = Thread {
                // Returns once for each wake-up; the notes alone are not taken.
                queue.waitForWork(atMost: nil)
                returned.raise()
            }
            writer.start()
            queue.append(Fixture.rejection(1))
            async let answer: Void = isClosing ? queue.requestClose() : Self.record(2, in: queue)
            await returned.wait()
            JournalWaiter.resume(.success(()), for: queue.dequeueAll().items)
            await answer
        }
    }

    private static func record(_ number: Int, in queue: JournalQueue) async {
        _ = await withCheckedContinuation { queue.add([Fixture.intent(number)], JournalWaiter($0)) }
    }

    @Test("Callers of several event loops resume on their own loops, with their records on disk")
    func loops() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        let strayed = Counter()
        await withTaskGroup { tasks in
            for (number, eventLoop) in (0..<300).map({ ($0, group.next()) }) {
                tasks.addTask(executorPreference: EventLoopExecutor(eventLoop)) {
                    for round in 0..<5 {
                        _ = try? await journal.record([Fixture.intent(number * 10 + round)])
                        if !eventLoop.inEventLoop { strayed.add() }
                    }
                }
            }
        }
        #expect(strayed.value == 0)
        await journal.close()
        try await group.shutdownGracefully()
        #expect(Set(try fixture.lines().compactMap(\.call)).count == 1500)
    }
}
