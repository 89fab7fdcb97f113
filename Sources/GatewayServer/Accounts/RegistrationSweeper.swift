internal import GatewayCore
internal import Logging

/// Deletes at the backend what is marked for it in the ledger: registrations of revoked users, and those that a device gave up
/// while the backend would not take it.
///
/// What fails is tried again, after a second first, and then after longer and longer. What is marked when the gateway ends is
/// found at the next start.
final class RegistrationSweeper: Sendable {
    private let ledger: any RegistrationLedger
    private let logger: Logger
    private let looks: AsyncStream<Void>
    private let look: AsyncStream<Void>.Continuation

    /// How often the ledger is looked at without having been woken.
    private static let period = Duration.milliseconds(500)
    /// How many registrations are taken up at a look, and how many of them are worked on at once.
    private static let batch = 256
    private static let atOnce = 8

    init(ledger: any RegistrationLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
        (looks, look) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Has the ledger looked at now.
    func wake() { look.yield() }

    /// Works until the task is cancelled.
    ///
    /// - Parameter sweep: deletes one registration, and says whether there is nothing more to delete.
    func run(
        clock: some Clock<Duration> = ContinuousClock(), _ sweep: @escaping @Sendable (RegistrationID) async -> Bool
    )
        async
    {
        await withTaskGroup { tasks in
            tasks.addTask { [look] in
                while (try? await Task.sleep(for: Self.period)) != nil { look.yield() }
                look.finish()
            }
            tasks.addTask { [self] in
                var waits = SweepWaits()
                for await _ in looks { await work(through: &waits, sweep) }
            }
        }
    }

    /// Takes up what is due.
    func work(
        through waits: inout SweepWaits, now: ContinuousClock.Instant = .now,
        _ sweep: @escaping @Sendable (RegistrationID) async -> Bool
    ) async {
        let marked: [RegistrationID]
        do throws(LedgerUnavailable) {
            marked = try await ledger.doomed(limit: Self.batch + waits.count)
        } catch {
            logger.error("The ledger cannot say what is to be deleted", metadata: ["detail": "\(error.detail)"])
            return
        }
        waits.keep(Set(marked))
        let due = marked.filter { waits.isDue($0, now) }.prefix(Self.batch)
        if due.isEmpty { return }
        let failed = await withTaskGroup(of: (RegistrationID, Bool).self) { tasks in
            var rest = due.makeIterator()
            var failed: [RegistrationID] = []
            for _ in 0..<Self.atOnce {
                if let id = rest.next() { tasks.addTask { (id, await sweep(id)) } }
            }
            for await (id, isDone) in tasks {
                if !isDone { failed.append(id) }
                if let id = rest.next() { tasks.addTask { (id, await sweep(id)) } }
            }
            return failed
        }
        for id in failed { waits.failed(id, now) }
        if due.count == Self.batch { wake() }
    }
}

/// Until when what failed is left alone.
struct SweepWaits {
    private var entries: [RegistrationID: (wait: Duration, until: ContinuousClock.Instant)] = [:]

    static let shortest = Duration.seconds(1)
    static let longest = Duration.seconds(300)

    var count: Int { entries.count }

    func isDue(_ id: RegistrationID, _ now: ContinuousClock.Instant) -> Bool {
        entries[id].map { $0.until <= now } ?? true
    }

    mutating func failed(_ id: RegistrationID, _ now: ContinuousClock.Instant) {
        let wait = entries[id].map { min($0.wait * 2, Self.longest) } ?? Self.shortest
        entries[id] = (wait, now + wait)
    }

    /// Forgets what is no longer marked.
    mutating func keep(_ marked: Set<RegistrationID>) {
        entries = entries.filter { marked.contains($0.key) }
    }
}
