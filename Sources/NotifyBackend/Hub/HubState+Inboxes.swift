public import struct Foundation.Date

/// Delivery, inboxes and live streams.
extension HubState {
    typealias Stream = AsyncStream<InboxEvent>.Continuation

    /// Returns the key of a handle's inbox: APNs handles in upper case, others unchanged.
    static func inboxKey(_ handle: String) -> String {
        handle.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit } ? handle.uppercased() : handle
    }

    /// Delivers to all matching registrations. Returns their number, and the streams whose buffer is full; the caller
    /// must finish those outside of the lock.
    mutating func deliver(
        _ payload: String,
        pns: String,
        service: PushService,
        to expression: TagExpression,
        fields: [String: String],
        at: Date
    ) -> (count: Int, overrun: [Stream]) {
        var count = 0
        var overrun: [Stream] = []
        let named = Set(expression.tags)
        for stored in registrations(matching: expression) where stored.service == service {
            count += 1
            lastSequence += 1
            let notification = DeliveredNotification(
                sequence: lastSequence,
                at: at,
                pns: pns,
                registration: stored.registration.id,
                tagsMatched: stored.registration.tags.filter { named.contains($0.lowercased()) },
                payload: payload,
                fields: fields
            )
            let key = Self.inboxKey(stored.registration.handle)
            keep(notification, in: key)
            for stream in (subscribers[key] ?? [:]).values where !stream.offer(.delivered(notification)) {
                overrun.append(stream)
            }
        }
        return (count, overrun)
    }

    private mutating func keep(_ notification: DeliveredNotification, in key: String) {
        if inboxes[key] == nil, let dropped = inboxes.set([], for: key) { subtractSize(of: dropped.value) }
        let limit = limits.notificationsPerInbox
        var change = notification.payload.utf8.count
        inboxes.update(key) { inbox in
            if inbox.count >= limit { change -= inbox.removeFirst().payload.utf8.count }
            inbox.append(notification)
        }
        inboxBytes += change
        while inboxBytes > limits.inboxBytes, inboxes.count > 1, let dropped = inboxes.removeOldest() {
            subtractSize(of: dropped.value)
        }
    }

    private mutating func subtractSize(of inbox: [DeliveredNotification]) {
        inboxBytes -= inbox.reduce(0) { $0 + $1.payload.utf8.count }
    }

    /// Opens a stream that begins with the contents of the inbox. Returns nil if too many streams are open.
    mutating func subscribe(
        to key: String
    ) -> (id: UInt64, stream: AsyncStream<InboxEvent>, continuation: Stream)? {
        guard subscriberCount < limits.subscribers else { return nil }
        let kept = inboxes[key] ?? []
        let (stream, continuation) = AsyncStream.makeStream(
            of: InboxEvent.self,
            bufferingPolicy: .bufferingOldest(kept.count + Self.streamBuffer)
        )
        for notification in kept { continuation.yield(.delivered(notification)) }
        lastSubscriber += 1
        subscriberCount += 1
        subscribers[key, default: [:]][lastSubscriber] = continuation
        return (lastSubscriber, stream, continuation)
    }

    /// Closes a subscription. Returns its stream, to be destroyed outside of the lock.
    mutating func unsubscribe(_ id: UInt64) -> Stream? {
        guard let key = subscribers.first(where: { $0.value[id] != nil })?.key else { return nil }
        let removed = subscribers[key]?.removeValue(forKey: id)
        if subscribers[key]?.isEmpty == true { subscribers[key] = nil }
        subscriberCount -= 1
        return removed
    }

    /// Sends a heartbeat to all streams. Returns the streams whose buffer is full.
    func sendHeartbeats() -> [Stream] {
        subscribers.values.flatMap(\.values).filter { !$0.offer(.heartbeat) }
    }
}

extension AsyncStream<InboxEvent>.Continuation {
    /// Yields the event. Returns whether there was room for it.
    fileprivate func offer(_ event: InboxEvent) -> Bool {
        switch yield(event) {
        case .enqueued, .terminated: true
        case .dropped: false
        @unknown default: true
        }
    }
}

/// An event of a live inbox.
enum InboxEvent: Sendable, Equatable {
    case delivered(DeliveredNotification)
    /// A sign of life without a notification.
    case heartbeat
}

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
    /// The header fields for the push service that came with the send over the hub's REST interface, by their names in
    /// lower case.
    public let fields: [String: String]
}
