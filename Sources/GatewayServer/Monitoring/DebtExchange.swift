internal import Gateway
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The service that shares the state of limits and login throttles with the other nodes of a store in PostgreSQL, every
/// 100 ms.
///
/// States: *exchanging*, until no exchange has succeeded for a second; then *cut off*, until one succeeds. While it is
/// cut off, a node counts each call as many times as there were nodes at last, so that all nodes together admit no more
/// than one would. What it has counted is shared with the first exchange.
final class DebtExchange: Service {
    private struct State {
        /// The number of the last change that this node has applied.
        var applied: Int64 = 0
        var lastSuccess: MonotonicInstant
        var lastExpiry: MonotonicInstant
        var nodes = 1
        var isFailing = false
        var isCutOff = false
    }

    private let store: PostgreSQLDebts
    private let sharing: DebtSharing
    private let sources: [any DebtSource]
    private let clocks: Clocks
    private let logger: Logger
    private let state: Mutex<State>

    private static let period = Duration.milliseconds(100)
    private static let expiryPeriod = Duration.seconds(60)
    /// The time without an exchange after which a node is cut off.
    private static let patience = Duration.seconds(1)
    /// The age up to which the rows of a removal are removed again, because debts of before it may have come after it.
    private static let repeatedRemoval = Duration.seconds(5)

    init(
        _ store: PostgreSQLDebts, _ sharing: DebtSharing, _ sources: [any DebtSource], clocks: Clocks, logger: Logger
    ) {
        self.store = store
        self.sharing = sharing
        self.sources = sources
        self.clocks = clocks
        self.logger = logger
        let now = clocks.monotonic()
        state = Mutex(State(lastSuccess: now, lastExpiry: now))
    }

    /// The time since the last successful exchange, or since the start.
    var age: Duration { elapsed(since: state.withLock(\.lastSuccess)) }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask {
                    while (try? await Task.sleep(for: Self.period)) != nil { await self.exchange() }
                }
                // An exchange may wait for a server that does not respond.
                tasks.addTask {
                    while (try? await Task.sleep(for: .milliseconds(500))) != nil { self.checkIsolation() }
                }
            }
        }
        // The last charges are shared too: a restart must not clear them.
        await exchange()
    }

    /// Exchanges changes and debts once. Returns whether it succeeded.
    @discardableResult func exchange() async -> Bool {
        do throws(LedgerUnavailable) {
            try await announceChanges()
            let nodes = try await applyChanges()
            for source in sources { try await shareDebts(of: source) }
            try await removeExpired()
            succeed(nodes: nodes)
            return true
        } catch {
            let isFirst = state.withLock { state in
                defer { state.isFailing = true }
                return !state.isFailing
            }
            if isFirst {
                logger.warning("Limits are not shared with other nodes", metadata: ["detail": "\(error.detail)"])
            }
            checkIsolation()
            return false
        }
    }

    /// Has calls count several times if no exchange has succeeded for too long.
    func checkIsolation() {
        let nodes = state.withLock { state -> Int? in
            guard !state.isCutOff, elapsed(since: state.lastSuccess) > Self.patience else { return nil }
            state.isCutOff = true
            return state.nodes
        }
        if let nodes { for source in sources { source.use(weight: nodes) } }
    }

    private func succeed(nodes: Int) {
        let now = clocks.monotonic()
        let (wasFailing, wasCutOff) = state.withLock { state in
            defer {
                state.lastSuccess = now
                state.nodes = nodes
                (state.isFailing, state.isCutOff) = (false, false)
            }
            return (state.isFailing, state.isCutOff)
        }
        if wasCutOff { for source in sources { source.use(weight: 1) } }
        if wasFailing { logger.notice("Limits are shared with other nodes again") }
    }

    private func announceChanges() async throws(LedgerUnavailable) {
        let changes = sharing.takeChanges()
        do throws(LedgerUnavailable) {
            try await store.announce(changes)
        } catch {
            sharing.restore(changes)
            throw error
        }
    }

    /// Applies the changes of all nodes, those of this node too: an exchange may have brought back what it had removed.
    /// Before debts are shared, so that a node that was cut off does not share debts that an operator has removed.
    ///
    /// - Returns: The number of live nodes.
    private func applyChanges() async throws(LedgerUnavailable) -> Int {
        let (applied, lastSuccess) = state.withLock { ($0.applied, $0.lastSuccess) }
        var updates = try await store.updates(after: applied)
        if elapsed(since: lastSuccess) > PostgreSQLDebts.removalLifetime - .seconds(3600) {
            for source in sources { source.apply(DebtSharing.removalOfEverything) }
        }
        while true {
            for change in updates.changes
            where change.kind == .debtsRemoved && .nanoseconds(change.age) < Self.repeatedRemoval {
                try await store.remove(change.pattern)
            }
            for source in sources where !updates.changes.isEmpty { source.apply(updates.changes) }
            state.withLock { $0.applied = updates.last }
            guard updates.isPartial else { return updates.nodes }
            updates = try await store.updates(after: updates.last)
        }
    }

    private func shareDebts(of source: any DebtSource) async throws(LedgerUnavailable) {
        let debts = source.takeDebts()
        for start in stride(from: 0, to: debts.count, by: PostgreSQLDebts.keysAtOnce) {
            let part = Array(debts[start..<min(start + PostgreSQLDebts.keysAtOnce, debts.count)])
            do throws(LedgerUnavailable) {
                source.apply(try await store.add(part))
            } catch {
                source.restore(Array(debts[start...]))
                throw error
            }
        }
    }

    private func removeExpired() async throws(LedgerUnavailable) {
        let now = clocks.monotonic()
        guard elapsed(since: state.withLock(\.lastExpiry)) > Self.expiryPeriod else { return }
        state.withLock { $0.lastExpiry = now }
        try await store.removeExpired()
    }

    private func elapsed(since instant: MonotonicInstant) -> Duration {
        .nanoseconds(clocks.monotonic().nanoseconds - instant.nanoseconds)
    }
}
