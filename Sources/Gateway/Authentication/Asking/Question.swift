internal import GatewayCore
internal import Synchronization

/// One credential before the authenticators: settled once, by their answer or by the deadline, whichever comes first.
///
/// What comes second is dropped: an answer that is late grants nothing to anybody.
final class Question: Sendable {
    private let isSettled = Atomic(false)
    private let timer = Mutex<(any CallTimer)?>(nil)
    private let verdict = OneTimeValue<AuthenticationOutcome?>()

    /// Asks on the caller's loop. Whoever answers without a wait costs no timer.
    ///
    /// - Parameters:
    ///   - ask: asks the authenticators. Cancelled at the deadline, so that whoever can give up does.
    ///   - settled: called once with the answer that counts, before anybody who waits learns of it.
    func ask(
        on loops: any CallLoops, within deadline: Duration,
        _ ask: @escaping @Sendable () async -> AuthenticationOutcome,
        settled: @escaping @Sendable (AuthenticationOutcome) -> Void
    ) {
        let task = loops.start { self.settle(await ask(), settled) }
        if isSettled.load(ordering: .acquiring) { return }
        let started = loops.schedule(after: deadline) {
            self.settle(.unavailable(.timedOut), settled)
            task.cancel()
        }
        timer.withLock { $0 = started }
        // Where it was settled on the way here, nobody else has a timer to cancel.
        if isSettled.load(ordering: .acquiring) { started.cancel() }
    }

    /// Ends a question that is never put: whoever waits for its answer has to ask again.
    func withdraw() { verdict.give(nil) }

    /// The answer, waited for; nil where the question was withdrawn.
    func answer() async -> AuthenticationOutcome? { await verdict.get() }

    private func settle(
        _ outcome: AuthenticationOutcome, _ settled: @Sendable (AuthenticationOutcome) -> Void
    ) {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        settled(outcome)
        timer.withLock(\.self)?.cancel()
        verdict.give(outcome)
    }
}
