import Foundation

/// Delivery, inboxes and their live streams.
extension HubState {
    typealias Stream = AsyncStream<InboxEvent>.Continuation

    /// Returns the key of a handle's inbox. APNs handles are case-insensitive, others are kept as they are.
    static func inboxKey(_ handle: String) -> String {
        handle.utf8.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit } ? handle.uppercased() : handle
    }

    /// Delivers to every matching registration. Returns their number and the streams whose buffers overflowed; the
    /// caller must finish those after it has released the lock.
    mutating func deliver(
        _ payload: String,
        pns: String,
        service: PushService,
        to expression: TagExpression,
        at: Date
    ) -> (count: Int, overrun: [Stream]) {
        var count = 0
        var overrun: [Stream] = []
        let named = Set(expression.tags)
        for stored in meant(by: expression) where stored.service == service {
            count += 1
            lastSequence += 1
            let notification = DeliveredNotification(
                sequence: lastSequence,
                at: at,
                pns: pns,
                registration: stored.registration.id,
                tagsMatched: stored.registration.tags.filter { named.contains($0.lowercased()) },
                payload: payload
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
        if inboxes[key] == nil, let dropped = inboxes.set([], for: key) { forget(dropped.value) }
        let limit = limits.notificationsPerInbox
        var change = notification.payload.utf8.count
        inboxes.update(key) { inbox in
            if inbox.count >= limit { change -= inbox.removeFirst().payload.utf8.count }
            inbox.append(notification)
        }
        inboxBytes += change
        while inboxBytes > limits.inboxBytes, inboxes.count > 1, let dropped = inboxes.removeOldest() {
            forget(dropped.value)
        }
    }

    private mutating func forget(_ inbox: [DeliveredNotification]) {
        inboxBytes -= inbox.reduce(0) { $0 + $1.payload.utf8.count }
    }

    /// Opens a stream that starts with the inbox's content; returns nil if too many are open.
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

    /// Removes a subscription and returns its stream, which the caller must destroy after it has released the lock.
    mutating func unsubscribe(_ id: UInt64) -> Stream? {
        guard let key = subscribers.first(where: { $0.value[id] != nil })?.key else { return nil }
        let removed = subscribers[key]?.removeValue(forKey: id)
        if subscribers[key]?.isEmpty == true { subscribers[key] = nil }
        subscriberCount -= 1
        return removed
    }

    /// Sends a heartbeat to all streams and returns those whose buffers overflowed.
    func beat() -> [Stream] {
        subscribers.values.flatMap(\.values).filter { !$0.offer(.heartbeat) }
    }
}

extension AsyncStream<InboxEvent>.Continuation {
    /// Yields the event and returns whether there was room for it.
    fileprivate func offer(_ event: InboxEvent) -> Bool {
        switch yield(event) {
        case .enqueued, .terminated: true
        case .dropped: false
        @unknown default: true
        }
    }
}
