public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A notification history that the test fills and can make fail.
public final class ScriptedHistory: NotificationHistory {
    private struct State {
        var notifications: [UserName: [ReceivedNotification]] = [:]
        var failure: HistoryUnavailable?
        var queries: [(user: UserName, since: WallTime?, limit: Int)] = []
    }

    private let state = Mutex(State())

    /// Creates an empty history.
    public init() {}

    /// Sets the user's notifications, newest first.
    public func setNotifications(_ user: UserName, _ notifications: [ReceivedNotification]) {
        state.withLock { $0.notifications[user] = notifications }
    }

    /// Makes queries fail, until it is called with nil.
    public func fail(_ failure: HistoryUnavailable?) { state.withLock { $0.failure = failure } }

    /// The queries, in order.
    public var queries: [(user: UserName, since: WallTime?, limit: Int)] { state.withLock { $0.queries } }

    /// Returns the configured notifications, up to the limit.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let (failure, found) = state.withLock { state in
            state.queries.append((user, since, limit))
            return (state.failure, state.notifications[user] ?? [])
        }
        if let failure { throw failure }
        return Array(found.filter { $0.time >= since ?? $0.time }.prefix(limit))
    }
}
