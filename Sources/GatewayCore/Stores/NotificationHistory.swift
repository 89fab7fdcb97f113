public import GatewaySupport

/// A query interface for the notifications that a user has received.
public protocol NotificationHistory: Sendable {
    /// Returns the sends to the user that were forwarded to the backend, newest first.
    ///
    /// Called on an event loop; resumes on the same. Omits sends from before the user name was last reassigned, so that
    /// its new holder learns nothing about the previous one.
    ///
    /// - Parameters:
    ///   - user: The caller, who is also the recipient.
    ///   - since: The earliest time; nil for everything that is kept.
    ///   - limit: The maximum number of results.
    /// - Throws: If the history cannot be read now.
    func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification]
}

/// One send as its recipient may see it: without text, address or policy rule.
public struct ReceivedNotification: Sendable, Hashable {
    /// The sender.
    public let sender: UserName
    /// The time at which the backend accepted it, or of its last recorded outcome.
    public let time: WallTime
    /// The push service.
    public let service: PushService

    /// Creates a value.
    public init(sender: UserName, time: WallTime, service: PushService) {
        self.sender = sender
        self.time = time
        self.service = service
    }
}

/// The error that the history cannot be read now.
public struct HistoryUnavailable: Error, Sendable, Hashable {
    /// The detail for the log.
    public let detail: String

    /// Creates an error.
    public init(_ detail: String) { self.detail = detail }
}
