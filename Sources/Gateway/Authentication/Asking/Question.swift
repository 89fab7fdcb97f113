internal import GatewayCore
internal import Synchronization

/// The pending verification of one credential. It completes once: with the authenticators' result, at the deadline, or
/// when no client waits any more, whichever comes first.
///
/// Later events are ignored: a late result logs no client in.
///
/// - Created: `start` leads to running, `withdraw()` to completed with nil.
/// - Running: the result, the deadline or the last waiter's disconnect leads to completed.
/// - Completed: final. Waiters get the result, or nil if they have to start over.
final class Question: Sendable {
    private let isSettled = Atomic(false)
    private let waiting = Atomic(0)
    private let running = Mutex<Asked?>(nil)
    private let promise = OneTimeValue<Judgement?>()

    /// The running verification: its deadline timer, its task, and the completion callback.
    private struct Asked {
        let timer: any CallTimer
        let task: Task<Void, Never>
        let settled: @Sendable (Judgement?) -> Void
    }

    /// Starts the verification on the caller's loop. A verification that completes without suspending needs no timer.
    ///
    /// - Parameters:
    ///   - verify: Queries the authenticators. Cancelled at the deadline, so that authenticators can abort.
    ///   - settled: Called once with the result, before any waiter resumes. The result is nil if all waiters have left.
    func start(
        on loops: any CallLoops, within deadline: Duration,
        _ verify: @escaping @Sendable () async -> Judgement, settled: @escaping @Sendable (Judgement?) -> Void
    ) {
        let task = loops.start { self.settle(await verify(), settled) }
        if isSettled.load(ordering: .acquiring) { return }
        let started = loops.schedule(after: deadline) {
            self.settle(.unavailable(.timedOut), settled)
            task.cancel()
        }
        running.withLock { $0 = Asked(timer: started, task: task, settled: settled) }
        // If the verification completed meanwhile, no other code can cancel this timer.
        if isSettled.load(ordering: .acquiring) { release() }
    }

    /// Completes a verification that was never started. Its waiters get nil and have to start their own.
    func withdraw() { promise.fulfill(nil) }

    /// Waits for the result. Returns nil if the verification was withdrawn or abandoned.
    ///
    /// - Parameter departure: The disconnect signal of the client. The verification is abandoned when no other client
    ///   waits.
    func answer(unless departure: ClientDeparture? = nil) async -> Judgement? {
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard let departure else { return await promise.get() }
        departure.watch { self.abandon() }
        defer { departure.endWatch() }
        return await promise.get()
    }

    /// Abandons the verification if this is the only waiter. A call that joins at the same moment gets nil and starts
    /// over.
    private func abandon() {
        guard waiting.load(ordering: .relaxed) == 1, let running = running.withLock(\.self) else { return }
        settle(nil, running.settled)
        running.task.cancel()
    }

    /// Releases the timer, the task and the callback, so that a retained verification does not retain them.
    private func release() {
        let running = running.withLock { running in
            defer { running = nil }
            return running
        }
        running?.timer.cancel()
    }

    private func settle(
        _ judgement: Judgement?, _ settled: @Sendable (Judgement?) -> Void
    ) {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        settled(judgement)
        release()
        promise.fulfill(judgement)
    }
}
