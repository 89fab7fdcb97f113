public import struct Foundation.Date

/// One notification that was delivered to a device.
public struct DeliveredNotification: Sendable, Equatable {
    /// The number of the delivery in the hub, from 1; also the event id in the live inbox.
    public let sequence: UInt64
    /// The time of delivery, by the hub's clock.
    public let at: Date
    /// The `pns` name of the send, in lower case.
    public let pns: String
    /// The registration that matched. A handle with two registrations is notified twice.
    public let registration: String
    /// The tags of the registration that the send's expression names, in the registration's order.
    public let tagsMatched: [String]
    /// The payload, exactly as the backend built it.
    public let payload: String
}
