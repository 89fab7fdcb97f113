package import GatewayCore
package import Logging
internal import Synchronization

/// Deletes at the backend the registrations that the ledger marks for deletion: those of revoked users, and those that
/// a device deleted while the backend did not accept it.
///
/// A failed deletion is repeated after one second, then after intervals that double up to 300 seconds. The ledger keeps
/// the marks, so a restart continues the work. Up to `maximumInProgress` deletions run at the same time, so a slow one
/// does not delay the others. Those of revocations go first, and some places are left to them, so that they wait neither
/// for the deletions that a user causes nor for a slow backend of those.
package final class RegistrationSweeper: Sendable {
    private let ledger: any RegistrationLedger
    private let logger: Logger
    private let wakeUps: AsyncStream<Void>
    private let wakeUp: AsyncStream<Void>.Continuation
    private let news = Mutex(News())

    /// The events since the sweeper last looked.
    private struct News {
        /// The deletions that have finished.
        var ended: [(id: RegistrationID, isDone: Bool)] = []
        /// Whether the ledger may have marked further registrations.
        var isMarked = true
    }

    /// The period after which the ledger is read without a call of `wake()`.
    private static let period = Duration.milliseconds(500)
    /// The number of registrations that one read returns, in addition to those in progress or waiting for a retry.
    private static let batch = 256
    /// The maximum number of deletions in progress.
    static let maximumInProgress = 16
    /// The number of these places that only revocations use.
    static let placesOfRevocations = 4

    package init(ledger: any RegistrationLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
        (wakeUps, wakeUp) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Reads the ledger now.
    package func wake() {
        news.withLock { $0.isMarked = true }
        wakeUp.yield()
    }

    /// Runs until the task is cancelled.
    ///
    /// - Parameter sweep: Deletes one registration and returns whether the deletion is complete.
    package func run(_ sweep: @escaping @Sendable (RegistrationID) async -> Bool) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { [self] in
                while (try? await Task.sleep(for: Self.period)) != nil { wake() }
                wakeUp.finish()
            }
            var waits = SweepBackoff()
            // The registrations that were marked when the ledger was last read, and found no place.
            var rest: [MarkedRegistration] = []
            for await _ in wakeUps {
                if takeNews(&waits) || rest.isEmpty { rest = await marked(by: &waits) ?? [] }
                for id in start(&rest, &waits, .now) {
                    tasks.addTask { [self] in
                        let isDone = await sweep(id)
                        news.withLock { $0.ended.append((id, isDone)) }
                        wakeUp.yield()
                    }
                }
            }
        }
    }

    /// Takes note of the deletions that have finished.
    ///
    /// - Returns: Whether the ledger may have marked further registrations.
    private func takeNews(_ waits: inout SweepBackoff) -> Bool {
        let news = news.withLock { news in
            defer { news = News(isMarked: false) }
            return news
        }
        for end in news.ended {
            waits.finish(end.id, isDone: end.isDone, isClaimed: ledger.isClaimed(end.id), .now)
        }
        return news.isMarked
    }

    /// Returns the registrations to delete now, at most as many as may be in progress, and counts them as in progress.
    func due(by waits: inout SweepBackoff, _ now: ContinuousClock.Instant) async -> [RegistrationID] {
        var marked = await marked(by: &waits) ?? []
        return start(&marked, &waits, now)
    }

    /// Reads what is marked, in the order of the deletions; nil if the ledger cannot be read.
    private func marked(by waits: inout SweepBackoff) async -> [MarkedRegistration]? {
        do throws(LedgerUnavailable) {
            let marked = try await ledger.markedForDeletion(limit: Self.batch + waits.count)
            waits.keep(Set(marked.map(\.id)))
            return marked
        } catch {
            logger.error("Pending deletions could not be read from the ledger", metadata: ["detail": "\(error.detail)"])
            return nil
        }
    }

    /// Removes from the marked registrations those that are not due, and those for which there is a place. Counts the
    /// latter as in progress and returns them.
    private func start(
        _ marked: inout [MarkedRegistration], _ waits: inout SweepBackoff, _ now: ContinuousClock.Instant
    ) -> [RegistrationID] {
        var started: [RegistrationID] = []
        marked.removeAll { registration in
            guard waits.isDue(registration.id, now, isClaimed: ledger.isClaimed) else { return true }
            let places = Self.maximumInProgress - (registration.isRevoked ? 0 : Self.placesOfRevocations)
            guard waits.inProgress < places else { return false }
            waits.start(registration.id)
            started.append(registration.id)
            return true
        }
        return started
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
