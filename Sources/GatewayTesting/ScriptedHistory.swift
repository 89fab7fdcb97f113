public import GatewayCore
internal import Synchronization

/// A history that a test writes, and that refuses when told.
public final class ScriptedHistory: NotificationHistory {
    private struct State {
        var notifications: [UserName: [ReceivedNotification]] = [:]
        var failure: HistoryUnavailable?
        var questions: [(user: UserName, since: WallTime?, limit: Int)] = []
    }

    private let state = Mutex(State())

    /// A history in which nobody notified anybody.
    public init() {}

    /// Who is said to have notified the user, the newest first.
    public func tell(_ user: UserName, _ notifications: [ReceivedNotification]) {
        state.withLock { $0.notifications[user] = notifications }
    }

    /// From now on nothing can be told, until this is called with nil.
    public func refuse(_ failure: HistoryUnavailable?) { state.withLock { $0.failure = failure } }

    /// What was asked, in order.
    public var questions: [(user: UserName, since: WallTime?, limit: Int)] { state.withLock { $0.questions } }

    /// What the test wrote, as many as are wanted.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        let (failure, found) = state.withLock { state in
            state.questions.append((user, since, limit))
            return (state.failure, state.notifications[user] ?? [])
        }
        if let failure { throw failure }
        return Array(found.filter { $0.time >= since ?? $0.time }.prefix(limit))
    }
}
