package import GatewayCore
package import Logging
internal import Synchronization

/// Deletes at the backend the registrations that the ledger marks for deletion: those of revoked users, and those that
/// a device deleted while the backend did not accept it.
///
/// A failed deletion is repeated after one second, then after intervals that double up to 300 seconds. The ledger keeps
/// the marks, so a restart continues the work. Up to `maximumInProgress` deletions run at the same time, so a slow one
/// does not delay the others.
package final class RegistrationSweeper: Sendable {
    private let ledger: any RegistrationLedger
    private let logger: Logger
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    /// The deletions that have finished since the ledger was last read.
    private let ended = Mutex<[Ended]>([])

    private struct Ended {
        let id: RegistrationID
        let isDone: Bool
    }

    /// The period after which the ledger is read without a call of `wake()`.
    private static let period = Duration.milliseconds(500)
    /// The number of registrations that one read returns, in addition to those in progress or waiting for a retry.
    private static let batch = 256
    /// The maximum number of deletions in progress.
    static let maximumInProgress = 16

    package init(ledger: any RegistrationLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
        (wakeUps, wakeUp) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads the ledger now.
    package func wake() { wakeUp.yield() }

    /// Runs until the task is cancelled.
    ///
    /// - Parameter sweep: Deletes one registration and returns whether the deletion is complete.
    package func run(_ sweep: @escaping @Sendable (RegistrationID) async -> Bool) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { [wakeUp] in
                while (try? await Task.sleep(for: Self.period)) != nil { wakeUp.yield() }
                wakeUp.finish()
            }
            var waits = SweepBackoff()
            for await _ in wakeUps {
                collectEnded(&waits)
                for id in await due(by: &waits, .now) {
                    tasks.addTask { [self] in
                        let end = Ended(id: id, isDone: await sweep(id))
                        ended.withLock { $0.append(end) }
                        wake()
                    }
                }
            }
        }
    }

    private func collectEnded(_ waits: inout SweepBackoff) {
        let all = ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
        for end in all { waits.finish(end.id, isDone: end.isDone, isClaimed: ledger.isClaimed(end.id), .now) }
    }

    /// Returns the registrations to delete now, at most as many as may be in progress, and counts them as in progress.
    func due(by waits: inout SweepBackoff, _ now: ContinuousClock.Instant) async -> [RegistrationID] {
        guard waits.inProgress < Self.maximumInProgress else { return [] }
        let marked: [RegistrationID]
        do throws(LedgerUnavailable) {
            marked = try await ledger.pendingDeletion(limit: Self.batch + waits.count)
        } catch {
            logger.error("Pending deletions could not be read from the ledger", metadata: ["detail": "\(error.detail)"])
            return []
        }
        waits.keep(Set(marked))
        let due = marked.filter { waits.isDue($0, now, isClaimed: ledger.isClaimed) }
            .prefix(Self.maximumInProgress - waits.inProgress)
        for id in due { waits.start(id) }
        return Array(due)
    }
}

/// The deletions in progress, and the retry time of those that failed.
struct SweepBackoff {
    private struct Entry {
        var wait: Duration
        var until: ContinuousClock.Instant
        /// Whether a call held the claim of the registration when its deletion failed.
        var wasClaimed: Bool
    }

    private var entries: [RegistrationID: Entry] = [:]
    private var started: Set<RegistrationID> = []

    static let initialDelay = Duration.seconds(1)
    static let maximumDelay = Duration.seconds(300)

    /// The number of registrations that are in progress or waiting for a retry.
    var count: Int { entries.count + started.count }

    /// The number of deletions in progress.
    var inProgress: Int { started.count }

    /// Returns whether the registration is neither in progress nor waiting for a retry. A registration that a call
    /// claimed is due as soon as the call releases it.
    func isDue(
        _ id: RegistrationID, _ now: ContinuousClock.Instant, isClaimed: (RegistrationID) -> Bool
    ) -> Bool {
        if started.contains(id) { return false }
        guard let entry = entries[id], entry.until > now else { return true }
        return entry.wasClaimed && !isClaimed(id)
    }

    /// Records that a deletion starts.
    mutating func start(_ id: RegistrationID) { started.insert(id) }

    /// Records the result of a deletion.
    mutating func finish(
        _ id: RegistrationID, isDone: Bool, isClaimed: Bool, _ now: ContinuousClock.Instant
    ) {
        started.remove(id)
        if isDone { return }
        let wait = entries[id].map { min($0.wait * 2, Self.maximumDelay) } ?? Self.initialDelay
        entries[id] = Entry(wait: wait, until: now + wait, wasClaimed: isClaimed)
    }

    /// Removes the entries of registrations that are no longer marked for deletion.
    mutating func keep(_ marked: Set<RegistrationID>) {
        entries = entries.filter { marked.contains($0.key) || started.contains($0.key) }
    }
}
