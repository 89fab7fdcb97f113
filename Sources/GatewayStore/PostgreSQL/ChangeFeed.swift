internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// Reads the changes of sessions by all nodes on a thread with a connection of its own, and shows with each reading that
/// this node is live and what it has applied.
///
/// A notification of the server ends the pause between two readings; without one a pause takes half a second. A reading is
/// one transaction that writes, so a server that cannot commit does not confirm that this node is up to date.
final class ChangeFeed: SessionFeed {
    /// The longest pause between two readings.
    private static let pause = Duration.milliseconds(500)
    /// The pause after a failed reading.
    private static let pauseAfterFailure = Duration.milliseconds(250)
    /// The shortest time between two readings, so that callers cannot keep the server busy.
    private static let distance = Duration.milliseconds(5)
    /// How long a change waits at most for the other nodes: longer than a node relies on what it read before the change.
    private static let patience = StoreNode.reliance + .seconds(1)
    /// The number of changes that are read at once.
    private static let batch = 1000
    /// How long a change is kept in the table, in microseconds.
    private static let retention = 2 * StoreNode.maximumGap
    /// The time between two removals of old changes.
    private static let removalPeriod = Duration.seconds(60)

    private struct Waiting {
        let change: Int64
        let deadline: MonotonicInstant
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var apply: (@Sendable ([SessionChange]) -> Void)?
        var wakeUp: PostgreSQLWakeUp?
        var refreshes: [CheckedContinuation<Bool, Never>] = []
        var waiting: [Waiting] = []
        var isStopped = false
    }

    /// What one reading found.
    private struct Reading {
        var changes: [SessionChange]
        /// The last change that every other live node has applied; nil if there is no other.
        var appliedElsewhere: Int64?
    }

    /// Returns the channel of the notifications about new changes in a store.
    static func channel(of settings: PostgreSQLSettings) -> String { "notify_gateway \(settings.schema ?? "")" }

    private let settings: PostgreSQLSettings
    private let node: StoreNode
    private let onOlderCopy: @Sendable () -> Void
    private let state = Mutex(State())
    private let last = Atomic<Int64>(0)
    private let end = DispatchSemaphore(value: 0)
    private let pauseEnd = DispatchSemaphore(value: 0)

    /// Creates a feed without a connection.
    ///
    /// - Parameter onOlderCopy: Called before the feed ends because the store is an older copy of the one that it read.
    init(_ settings: PostgreSQLStore.Settings, node: StoreNode, onOlderCopy: @escaping @Sendable () -> Void) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway changes"
        self.settings = connection
        self.node = node
        self.onOlderCopy = onOlderCopy
    }

    private var clocks: Clocks { node.clocks }

    // MARK: SessionFeed

    var applied: Int64 { last.load(ordering: .acquiring) }

    func follow(after number: Int64, apply: @escaping @Sendable ([SessionChange]) -> Void) {
        last.store(number, ordering: .releasing)
        let isFirst = state.withLock { state in
            defer { state.apply = apply }
            return state.apply == nil
        }
        if isFirst { Thread.detachNewThread { [self] in run() } }
    }

    func refresh() async -> Bool {
        await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                if !state.isStopped { state.refreshes.append(continuation) }
                return state.isStopped
            }
            if isStopped { continuation.resume(returning: false) } else { wake() }
        }
    }

    func waitUntilApplied(_ number: Int64) async {
        if number == 0 { return }
        let deadline = MonotonicInstant(nanoseconds: clocks.monotonic().nanoseconds + Self.nanoseconds(Self.patience))
        await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                if !state.isStopped {
                    state.waiting.append(Waiting(change: number, deadline: deadline, continuation: continuation))
                }
                return state.isStopped
            }
            if isStopped { continuation.resume() } else { wake() }
        }
    }

    /// Ends the thread and closes its connection. Blocks for at most the time limit of a statement.
    func stop() {
        let isRunning = state.withLock { state in
            defer { state.isStopped = true }
            return state.apply != nil && !state.isStopped
        }
        wake()
        if isRunning { end.wait() }
    }

    private func wake() {
        state.withLock(\.wakeUp)?.wake()
        pauseEnd.signal()
    }

    // MARK: Thread

    private func run() {
        var connection: PostgreSQLConnection?
        var published: Int64?
        var lastRemoval = clocks.monotonic()
        while !state.withLock(\.isStopped) {
            do {
                let open = try connection ?? connect()
                connection = open
                // Callers that come later than this line wait for the next reading.
                let refreshes = state.withLock { state in
                    defer { state.refreshes = [] }
                    return state.refreshes
                }
                let began = clocks.monotonic()
                do { try read(open, &published) } catch {
                    for refresh in refreshes { refresh.resume(returning: false) }
                    throw error
                }
                for refresh in refreshes { refresh.resume(returning: true) }
                if published != applied { continue }
                if began.nanoseconds - lastRemoval.nanoseconds > Self.nanoseconds(Self.removalPeriod) {
                    lastRemoval = began
                    try removeOld(open)
                }
                try pause(open)
            } catch {
                connection?.close()
                connection = nil
                published = nil
                state.withLock { $0.wakeUp = nil }
                resumeWaiting(appliedElsewhere: .min)
                let refreshes = state.withLock { state in
                    defer { state.refreshes = [] }
                    return state.refreshes
                }
                for refresh in refreshes { refresh.resume(returning: false) }
                if node.isLost { break }
                _ = pauseEnd.wait(timeout: .now() + .milliseconds(250))
            }
        }
        connection?.close()
        finish()
    }

    private func finish() {
        let (refreshes, waiting) = state.withLock { state in
            defer { (state.refreshes, state.waiting, state.wakeUp, state.isStopped) = ([], [], nil, true) }
            return (state.refreshes, state.waiting)
        }
        for refresh in refreshes { refresh.resume(returning: false) }
        for waiter in waiting { waiter.continuation.resume() }
        end.signal()
    }

    private func connect() throws -> PostgreSQLConnection {
        let connection = try PostgreSQLConnection.connect(settings, within: settings.connectTimeout * 2)
        try connection.listen(Self.channel(of: settings))
        state.withLock { $0.wakeUp = connection.wakeUp }
        return connection
    }

    /// Reads the changes, applies them, and shows that this node is live.
    ///
    /// - Parameter published: The last change of which the other nodes know that this node has applied it.
    private func read(_ connection: PostgreSQLConnection, _ published: inout Int64?) throws {
        let (began, after) = (clocks.monotonic(), applied)
        let reading = try inTransaction(connection) { transaction in
            try node.showLife(transaction, applied: after)
            let tables = LedgerTables(transaction)
            let changes = try tables.changes(after: after, limit: Self.batch)
            // An older copy of the store, as after a failover that lost changes.
            if changes.isEmpty, try tables.lastChange() < after {
                onOlderCopy()
                throw node.record(.olderCopy)
            }
            let elsewhere = try transaction.integer(
                sql:
                    "SELECT min(applied) FROM node WHERE instance <> ? AND until > \(StoreNode.now) AND NOT is_exclusive",
                arguments: [node.instance])
            if let published, published < after { try transaction.notify(Self.channel(of: settings)) }
            return Reading(changes: changes, appliedElsewhere: elsewhere)
        }
        published = after
        if !reading.changes.isEmpty { try apply(reading.changes) }
        if reading.changes.count < Self.batch { node.recordReading(begunAt: began.nanoseconds) }
        resumeWaiting(appliedElsewhere: reading.appliedElsewhere ?? .max)
    }

    private func apply(_ changes: [SessionChange]) throws {
        if changes.contains(where: { if case .restored = $0.effect { !$0.isOwn } else { false } }) {
            throw node.record(.restored)
        }
        state.withLock(\.apply)?(changes)
        if let number = changes.last?.number { last.store(number, ordering: .releasing) }
    }

    private func inTransaction<Value>(
        _ connection: PostgreSQLConnection, _ body: (PostgreSQLTransaction) throws -> Value
    ) throws -> Value {
        try connection.simple("BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            let value = try body(PostgreSQLTransaction(connection: connection, node: node.instance))
            try connection.simple("COMMIT")
            return value
        } catch {
            if connection.isUsable { try? connection.simple("ROLLBACK") }
            throw error
        }
    }

    /// Resumes those that wait for changes that have effect everywhere, or that have waited long enough.
    private func resumeWaiting(appliedElsewhere: Int64) {
        let (known, now) = (min(applied, appliedElsewhere), clocks.monotonic())
        let done = state.withLock { state in
            let done = state.waiting.filter { $0.change <= known || $0.deadline <= now }
            state.waiting.removeAll { $0.change <= known || $0.deadline <= now }
            return done
        }
        for waiter in done { waiter.continuation.resume() }
    }

    /// Waits for a notification, a caller or the end of the pause.
    private func pause(_ connection: PostgreSQLConnection) throws {
        // The pauses are not those of a clock of a test.
        let now = Clocks.system.monotonic().nanoseconds
        let earliest = MonotonicInstant(nanoseconds: now + Self.nanoseconds(Self.distance))
        let latest = MonotonicInstant(nanoseconds: now + Self.nanoseconds(Self.pause))
        if state.withLock({ $0.isStopped }) { return }
        _ = try connection.waitForNotification(until: latest)
        // One reading answers all notifications and callers until then.
        while Clocks.system.monotonic() < earliest { _ = try connection.waitForNotification(until: earliest) }
    }

    private func removeOld(_ connection: PostgreSQLConnection) throws {
        // The last one stays, because its number tells an older copy of the store.
        try inTransaction(connection) { transaction in
            _ = try transaction.execute(
                sql: """
                    DELETE FROM change WHERE recorded < \(StoreNode.now) - ?
                        AND number < (SELECT max(number) FROM change)
                    """,
                arguments: [Self.retention])
        }
    }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}
