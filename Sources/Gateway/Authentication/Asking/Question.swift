internal import GatewayCore
internal import Synchronization

/// One credential before the authenticators: settled once, by their answer, by the deadline, or because nobody waits for the answer
/// any more, whichever comes first.
///
/// What comes second is dropped: an answer that is late grants nothing to anybody.
final class Question: Sendable {
    private let isSettled = Atomic(false)
    private let waiting = Atomic(0)
    private let asked = Mutex<Asked?>(nil)
    private let verdict = OneTimeValue<Judgement?>()

    /// What goes on while the answer is awaited.
    private struct Asked {
        let timer: any CallTimer
        let task: Task<Void, Never>
        let settled: @Sendable (Judgement?) -> Void
    }

    /// Asks on the caller's loop. Whoever answers without a wait costs no timer.
    ///
    /// - Parameters:
    ///   - ask: asks the authenticators. Cancelled at the deadline, so that whoever can give up does.
    ///   - settled: called once with the answer that counts, before anybody who waits learns of it; with nil where all who
    ///     waited have left.
    func ask(
        on loops: any CallLoops, within deadline: Duration,
        _ ask: @escaping @Sendable () async -> Judgement, settled: @escaping @Sendable (Judgement?) -> Void
    ) {
        let task = loops.start { self.settle(await ask(), settled) }
        if isSettled.load(ordering: .acquiring) { return }
        let started = loops.schedule(after: deadline) {
            self.settle(.unavailable(.timedOut), settled)
            task.cancel()
        }
        asked.withLock { $0 = Asked(timer: started, task: task, settled: settled) }
        // Where it was settled on the way here, nobody else has a timer to cancel.
        if isSettled.load(ordering: .acquiring) { letGo() }
    }

    /// Ends a question that is never put: whoever waits for its answer has to ask again.
    func withdraw() { verdict.give(nil) }

    /// The answer, waited for; nil where the question was withdrawn or given up.
    ///
    /// - Parameter departure: says when the caller is not interested any more. The question is given up if no other waits.
    func answer(unless departure: ClientDeparture? = nil) async -> Judgement? {
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard let departure else { return await verdict.get() }
        departure.watch { self.giveUp() }
        defer { departure.endWatch() }
        return await verdict.get()
    }

    /// Whoever finds the question in the same moment is told nil, and asks again.
    private func giveUp() {
        guard waiting.load(ordering: .relaxed) == 1, let asked = asked.withLock(\.self) else { return }
        settle(nil, asked.settled)
        asked.task.cancel()
    }

    /// Nothing is waited for any more; whoever holds the question holds no task.
    private func letGo() {
        let asked = asked.withLock { asked in
            defer { asked = nil }
            return asked
        }
        asked?.timer.cancel()
    }

    private func settle(
        _ judgement: Judgement?, _ settled: @Sendable (Judgement?) -> Void
    ) {
        guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        settled(judgement)
        letGo()
        verdict.give(judgement)
    }
}
