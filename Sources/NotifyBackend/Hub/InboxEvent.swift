/// What a live inbox tells its reader.
enum InboxEvent: Sendable, Equatable {
    case delivered(DeliveredNotification)
    /// Nothing happened for a while.
    case heartbeat
}
