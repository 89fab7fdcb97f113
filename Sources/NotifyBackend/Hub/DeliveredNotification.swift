public import struct Foundation.Date

/// One notification that arrived at a device.
public struct DeliveredNotification: Sendable, Equatable {
    /// Counts all deliveries of the hub from 1 up; also the event id of the live inbox.
    public let sequence: UInt64
    /// When the hub delivered it, by the hub's clock.
    public let at: Date
    /// The `pns` word that it was sent with, in lower case.
    public let pns: String
    /// The registration through which it came. A handle with two registrations is notified twice.
    public let registration: String
    /// Those tags of the registration that the send's expression names, in the registration's order.
    public let tagsMatched: [String]
    /// The payload, byte for byte as the backend built it.
    public let payload: String
}
