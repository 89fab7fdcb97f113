/// What users can be told of who notified them.
public protocol NotificationHistory: Sendable {
    /// The sends to the user that were handed to the backend, the newest first.
    ///
    /// Called on an event loop and returns on the same. Never from before the present life of the name: who has a name that
    /// somebody had before learns nothing of the predecessor.
    ///
    /// - Parameters:
    ///   - user: Who asks, for themselves.
    ///   - since: Not before this time; nil for all that is kept.
    ///   - limit: How many at most.
    /// - Throws: Where it cannot be told at present.
    func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification]
}

/// One send, as its recipient may know of it: no text, no address, no rule.
public struct ReceivedNotification: Sendable, Hashable {
    /// Who sent it.
    public let sender: UserName
    /// When the backend had taken it, or was last heard of.
    public let time: WallTime
    /// The service that it went through.
    public let service: PushService

    /// A send from its parts.
    public init(sender: UserName, time: WallTime, service: PushService) {
        self.sender = sender
        self.time = time
        self.service = service
    }
}

/// It cannot be told at present who notified whom.
public struct HistoryUnavailable: Error, Sendable, Hashable {
    /// For the log alone.
    public let detail: String

    /// A failure as the store describes it.
    public init(_ detail: String) { self.detail = detail }
}
