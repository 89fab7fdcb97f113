import Dispatch
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore

/// A task executor on one queue, similar to an event loop on one thread.
private final class QueueExecutor: TaskExecutor {
    private static let key = DispatchSpecificKey<Bool>()
    private let queue = DispatchQueue(label: "loop")

    init() { queue.setSpecific(key: Self.key, value: true) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Whether the caller runs on the executor.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}

@Suite("Stores: callers resume on their own executor", .timeLimit(.minutes(5)))
struct ExecutorTests {
    @Test("After each wait for the ledger, including contended ones")
    func ledger() async throws {
        let fixture = try LedgerFixture()
        let executor = QueueExecutor()
        let handle = try LedgerFixture.handle(1)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...8 {
                group.addTask(executorPreference: executor) {
                    #expect(QueueExecutor.isCurrent)
                    let request = LedgerRequest.update(
                        user: LedgerFixture.alice, label: LedgerFixture.id(number), handle: handle)
                    let claim = try await fixture.ledger.begin(request, now: LedgerFixture.noon)
                    #expect(QueueExecutor.isCurrent)
                    try await fixture.ledger.finish(
                        claim, with: .registered(LedgerFixture.id(1), replacing: nil), now: LedgerFixture.noon)
                    #expect(QueueExecutor.isCurrent)
                    _ = try await fixture.ledger.isHeld(LedgerFixture.id(1), forAnotherThan: handle)
                    #expect(QueueExecutor.isCurrent)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("After each record of the journal, including rejected ones")
    func journal() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        let executor = QueueExecutor()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask(executorPreference: executor) {
                    try await journal.record([JournalFixture.intent(number)])
                    #expect(QueueExecutor.isCurrent)
                }
            }
            try await group.waitForAll()
        }
        await journal.close()
        let task = Task(executorPreference: executor) {
            await #expect(throws: JournalUnavailable.self) { try await journal.record([JournalFixture.intent(1)]) }
            #expect(QueueExecutor.isCurrent)
        }
        await task.value
    }
}
