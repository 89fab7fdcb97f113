/// The capacities of the in-memory hub. A full collection drops its oldest element.
public struct HubLimits: Sendable {
    /// The number of registrations.
    public var registrations: Int
    /// The number of device inboxes.
    public var inboxes: Int
    /// The number of notifications in one inbox.
    public var notificationsPerInbox: Int
    /// The bytes of payload in all inboxes together.
    public var inboxBytes: Int
    /// The number of concurrent live inbox streams. Further ones are rejected.
    public var subscribers: Int

    /// Creates limits. Values below 1 become 1.
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
