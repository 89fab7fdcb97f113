/// An event of a live inbox.
enum InboxEvent: Sendable, Equatable {
    case delivered(DeliveredNotification)
    /// Keeps an idle stream alive.
    case heartbeat
}
