public import struct Foundation.Date

/// A notification that was delivered to a device.
public struct DeliveredNotification: Sendable, Equatable {
    /// The number of the delivery, counted by the hub from 1. Also the event id in the live inbox.
    public let sequence: UInt64
    /// The time of the delivery by the hub's clock.
    public let at: Date
    /// The `pns` word of the send, in lower case.
    public let pns: String
    /// The id of the registration that received it. A handle with two registrations is notified twice.
    public let registration: String
    /// The registration's tags that the send's expression names, in the registration's order.
    public let tagsMatched: [String]
    /// The payload, byte for byte as the backend built it.
    public let payload: String
}
