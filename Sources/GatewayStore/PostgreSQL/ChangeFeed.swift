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
    private static let pauseAfterFailure = DispatchTimeInterval.milliseconds(250)
    /// The shortest time between two readings, so that callers cannot keep the server busy.
    private static let distance = Duration.milliseconds(5)
    /// How long a change waits at most for the other nodes: longer than a node relies on what it read before the change.
    private static let patience = StoreNode.reliance + .seconds(1)
    /// The time between two removals of old changes.
    private static let removalPeriod = Duration.seconds(60)

    private struct State {
        var apply: (@Sendable ([SessionChange]) -> Void)?
        var wakeUp: PostgreSQLWakeUp?
        var waiters = ChangeWaiters()
        var isStopped = false
    }

    /// Returns the channel of the notifications about new changes in a store.
    static func channel(of settings: PostgreSQLSettings) -> String { "notify_gateway \(settings.schema ?? "")" }

    let settings: PostgreSQLSettings
    let node: StoreNode
    private let state = Mutex(State())
    private let last = Atomic<Int64>(0)
    /// The last change that was applied. `follow` sets it before it starts the feed's thread; then only that thread uses it.
    nonisolated(unsafe) var position = ChangePosition.none
    /// The server's timeline, the time of the first reading on it since the start of the machine, in nanoseconds, and this
    /// node's last sign of life that the server had then. Only the feed's thread uses it.
    nonisolated(unsafe) var server: (timeline: String, firstReading: Int64, lastSign: Int64)?
    private let end = DispatchSemaphore(value: 0)
    private let pauseEnd = DispatchSemaphore(value: 0)

    /// Creates a feed without a connection.
    init(_ settings: PostgreSQLStore.Settings, node: StoreNode) {
        var connection = settings.connection
        connection.applicationName = "notify-gateway changes"
        self.settings = connection
        self.node = node
    }

    var clocks: Clocks { node.clocks }

    // MARK: SessionFeed

    var applied: Int64 { last.load(ordering: .acquiring) }

    func follow(after position: ChangePosition, apply: @escaping @Sendable ([SessionChange]) -> Void) {
        let isFirst = state.withLock { state in
            defer { state.apply = apply }
            return state.apply == nil
        }
        // The initializer of `SessionRegister` is the only caller, and a store has one register.
        precondition(isFirst, "the changes are followed once")
        self.position = position
        last.store(position.number, ordering: .releasing)
        Thread.detachNewThread { [self] in run() }
    }

    func refresh() async -> Bool {
        await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                if !state.isStopped { state.waiters.addRefresh(continuation) }
                return state.isStopped
            }
            if isStopped { continuation.resume(returning: false) } else { wake() }
        }
    }

    func waitUntilApplied(_ number: Int64) async -> Bool {
        if number == 0 { return true }
        let deadline = MonotonicInstant(nanoseconds: clocks.monotonic().nanoseconds + Self.nanoseconds(Self.patience))
        return await withCheckedContinuation { continuation in
            let isStopped = state.withLock { state in
                if !state.isStopped { state.waiters.add(number, until: deadline, continuation) }
                return state.isStopped
            }
            if isStopped { continuation.resume(returning: false) } else { wake() }
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
                let refreshes = state.withLock { $0.waiters.takeRefreshes() }
                let began = clocks.monotonic()
                let reading = Result { try read(open, &published) }
                refreshes.resume(isRead: (try? reading.get()) != nil)
                try reading.get()
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
                state.withLock { $0.waiters.takeRefreshes() }.resume(isRead: false)
                if node.isLost { break }
                _ = pauseEnd.wait(timeout: .now() + Self.pauseAfterFailure)
            }
        }
        connection?.close()
        finish()
    }

    private func finish() {
        let (refreshes, applied) = state.withLock { state in
            (state.wakeUp, state.isStopped) = (nil, true)
            return (state.waiters.takeRefreshes(), state.waiters.takeApplied(upTo: .max, now: clocks.monotonic()))
        }
        refreshes.resume(isRead: false)
        for continuation in applied { continuation.resume(returning: false) }
        end.signal()
    }

    private func connect() throws -> PostgreSQLConnection {
        let connection = try PostgreSQLConnection.connect(settings, within: settings.connectTimeout * 2)
        try connection.readTimeline()
        try connection.listen(Self.channel(of: settings))
        state.withLock { $0.wakeUp = connection.wakeUp }
        return connection
    }

    /// Passes changes on to the memory of this node.
    func apply(_ changes: [SessionChange]) {
        guard let position = changes.last?.position else { return }
        state.withLock(\.apply)?(changes)
        self.position = position
        last.store(position.number, ordering: .releasing)
    }

    /// Resumes those that wait for changes that have effect everywhere, or that have waited long enough.
    func resumeWaiting(appliedElsewhere: Int64) {
        let (known, now) = (min(applied, appliedElsewhere), clocks.monotonic())
        let done = state.withLock { $0.waiters.takeApplied(upTo: known, now: now) }
        for continuation in done { continuation.resume(returning: true) }
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

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}
