internal import GatewayCore
internal import Logging
internal import Synchronization

/// Deletes at the backend what is marked for it in the ledger: registrations of revoked users, and those that a device gave up
/// while the backend would not take it.
///
/// What fails is tried again, after a second first, and then after longer and longer. What is marked when the gateway ends is
/// found at the next start. A deletion that takes long keeps no other waiting, up to `atOnce` of them.
final class RegistrationSweeper: Sendable {
    private let ledger: any RegistrationLedger
    private let logger: Logger
    private let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation
    /// Deletions that have ended since the last look.
    private let ended = Mutex<[Ended]>([])

    private struct Ended {
        let id: RegistrationID
        let isDone: Bool
    }

    /// How often the ledger is looked at without having been woken.
    private static let period = Duration.milliseconds(500)
    /// How many registrations are read at a look, beside those that are worked on or left alone.
    private static let batch = 256
    /// How many deletions are under way at once.
    static let atOnce = 16

    init(ledger: any RegistrationLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
        (looks, look) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has the ledger looked at now.
    func wake() { look.yield() }

    /// Works until the task is cancelled.
    ///
    /// - Parameter sweep: deletes one registration, and says whether there is nothing more to delete now.
    func run(_ sweep: @escaping @Sendable (RegistrationID) async -> Bool) async {
        await withDiscardingTaskGroup { tasks in
            tasks.addTask { [look] in
                while (try? await Task.sleep(for: Self.period)) != nil { look.yield() }
                look.finish()
            }
            var waits = SweepBackoff()
            for await _ in looks {
                takeEnded(&waits)
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

    private func takeEnded(_ waits: inout SweepBackoff) {
        let all = ended.withLock { ended in
            defer { ended = [] }
            return ended
        }
        for end in all { waits.ended(end.id, isDone: end.isDone, isClaimed: ledger.isClaimed(end.id), .now) }
    }

    /// What is to be deleted now, as many as may be under way; they count as under way from now on.
    func due(by waits: inout SweepBackoff, _ now: ContinuousClock.Instant) async -> [RegistrationID] {
        guard waits.inProgress < Self.atOnce else { return [] }
        let marked: [RegistrationID]
        do throws(LedgerUnavailable) {
            marked = try await ledger.pendingDeletion(limit: Self.batch + waits.count)
        } catch {
            logger.error("Pending deletions could not be read from the ledger", metadata: ["detail": "\(error.detail)"])
            return []
        }
        waits.keep(Set(marked))
        let due = marked.filter { waits.isDue($0, now, isClaimed: ledger.isClaimed) }
            .prefix(Self.atOnce - waits.inProgress)
        for id in due { waits.begun(id) }
        return Array(due)
    }
}

/// Which registrations are being deleted, and until when those are left alone that could not be.
struct SweepBackoff {
    private struct Entry {
        var wait: Duration
        var until: ContinuousClock.Instant
        /// Whether a call held the registration, so that the deletion went ahead of it.
        var wasClaimed: Bool
    }

    private var entries: [RegistrationID: Entry] = [:]
    private var begun: Set<RegistrationID> = []

    static let shortest = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    /// How many registrations are known here.
    var count: Int { entries.count + begun.count }

    /// How many deletions are under way.
    var inProgress: Int { begun.count }

    /// Whether the registration is neither being deleted nor left alone. One that a call held is due when the call has ended.
    func isDue(
        _ id: RegistrationID, _ now: ContinuousClock.Instant, isClaimed: (RegistrationID) -> Bool
    ) -> Bool {
        if begun.contains(id) { return false }
        guard let entry = entries[id], entry.until > now else { return true }
        return entry.wasClaimed && !isClaimed(id)
    }

    mutating func begun(_ id: RegistrationID) { begun.insert(id) }

    /// Notes how a deletion ended.
    mutating func ended(
        _ id: RegistrationID, isDone: Bool, isClaimed: Bool, _ now: ContinuousClock.Instant
    ) {
        begun.remove(id)
        if isDone { return }
        let wait = entries[id].map { min($0.wait * 2, Self.longest) } ?? Self.shortest
        entries[id] = Entry(wait: wait, until: now + wait, wasClaimed: isClaimed)
    }

    /// Forgets what is no longer marked.
    mutating func keep(_ marked: Set<RegistrationID>) {
        entries = entries.filter { marked.contains($0.key) || begun.contains($0.key) }
    }
}
