/// An event of a live inbox.
enum InboxEvent: Sendable, Equatable {
    case delivered(DeliveredNotification)
    /// A sign of life without a notification.
    case heartbeat
}
