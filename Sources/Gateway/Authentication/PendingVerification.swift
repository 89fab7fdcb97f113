internal import GatewayCore
internal import Synchronization

/// The pending verification of one credential. It completes once: with the authenticators' result, at the deadline, or
/// when no client waits any more, whichever comes first.
///
/// Later events are ignored: a result after the deadline authenticates no client.
///
/// - Created: `start` changes the state to running, `withdraw()` to completed with nil.
/// - Running: the result, the deadline or the last waiter's disconnect changes the state to completed.
/// - Completed: final. Waiters get the result, or nil if they have to start a new verification.
final class PendingVerification: Sendable {
    /// The charges of earlier attempts with the same password, which had no result: one for each address.
    let paid: [LoginThrottle.Charge]
    private let isCompleted = Atomic(false)
    private let waiting = Atomic(0)
    private let running = Mutex<InProgress?>(nil)
    private let promise = AsyncPromise<VerificationResult?>()

    init(paid: [LoginThrottle.Charge] = []) { self.paid = paid }

    /// Returns the charge of an earlier attempt from the address; nil if there was none.
    func charge(of address: Peer.Address) -> LoginThrottle.Charge? { paid.first { $0.address == address } }

    /// The running verification: its deadline timer, its task, and the completion callback.
    private struct InProgress {
        let timer: any CallTimer
        let task: Task<Void, Never>
        let completed: @Sendable (VerificationResult?) -> Void
    }

    /// Starts the verification on the caller's loop. A verification that completes without suspending needs no timer.
    ///
    /// - Parameters:
    ///   - verify: Queries the authenticators. Cancelled at the deadline, so that authenticators can abort.
    ///   - completed: Called once with the result, before any waiter resumes. The result is nil if the clients of all
    ///     waiters have disconnected.
    func start(
        on scheduler: any CallScheduler, within deadline: Duration,
        _ verify: @escaping @Sendable () async -> VerificationResult,
        completed: @escaping @Sendable (VerificationResult?) -> Void
    ) {
        let task = scheduler.start { self.complete(await verify(), completed) }
        if isCompleted.load(ordering: .acquiring) { return }
        let started = scheduler.schedule(after: deadline) {
            self.complete(.unavailable(.timedOut), completed)
            task.cancel()
        }
        running.withLock { $0 = InProgress(timer: started, task: task, completed: completed) }
        // If the verification completed meanwhile, no other code can cancel this timer.
        if isCompleted.load(ordering: .acquiring) { release() }
    }

    /// Completes a verification that was never started. Its waiters get nil and have to start their own.
    func withdraw() { promise.fulfill(nil) }

    /// Waits for the result. Returns nil if the verification was withdrawn or abandoned.
    ///
    /// - Parameter clientDisconnect: The disconnect signal of the client. A disconnect abandons the verification if no
    ///   other client waits.
    func result(unless clientDisconnect: ClientDisconnect? = nil) async -> VerificationResult? {
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard let clientDisconnect else { return await promise.get() }
        clientDisconnect.watch { self.abandon() }
        defer { clientDisconnect.stopWatching() }
        return await promise.get()
    }

    /// Abandons the verification if this is the only waiter. A call that joins at the same moment gets nil and starts a
    /// new verification.
    private func abandon() {
        guard waiting.load(ordering: .relaxed) == 1, let running = running.withLock(\.self) else { return }
        complete(nil, running.completed)
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

    private func complete(
        _ verification: VerificationResult?, _ completed: @Sendable (VerificationResult?) -> Void
    ) {
        guard !isCompleted.exchange(true, ordering: .acquiringAndReleasing) else { return }
        completed(verification)
        release()
        promise.fulfill(verification)
    }
}

/// The result of verifying a credential, with the authenticator that decided.
struct VerificationResult: Sendable {
    let outcome: AuthenticationOutcome
    /// The authenticator that decided; nil if none did: all responded `notMine`, the deadline passed, or too many
    /// verifications were in progress.
    var authenticator: PluginName?

    /// Returns the result that the credential cannot be verified.
    static func unavailable(_ reason: OutageReason) -> VerificationResult {
        VerificationResult(outcome: .unavailable(reason))
    }
}
