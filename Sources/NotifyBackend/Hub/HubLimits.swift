/// Bounds of the in-memory hub. Whatever is full drops its oldest.
public struct HubLimits: Sendable {
    /// Registrations in all.
    public var registrations: Int
    /// Device inboxes in all.
    public var inboxes: Int
    /// Notifications kept for one device.
    public var notificationsPerInbox: Int
    /// Bytes of payload kept in all inboxes together.
    public var inboxBytes: Int
    /// Live inbox streams at a time; further ones are refused.
    public var subscribers: Int

    /// Describes bounds; values below 1 are taken as 1.
    public init(
        registrations: Int = 20_000,
        inboxes: Int = 20_000,
        notificationsPerInbox: Int = 100,
        inboxBytes: Int = 64 << 20,
        subscribers: Int = 64
    ) {
        self.registrations = max(1, registrations)
        self.inboxes = max(1, inboxes)
        self.notificationsPerInbox = max(1, notificationsPerInbox)
        self.inboxBytes = max(1, inboxBytes)
        self.subscribers = max(1, subscribers)
    }
}
