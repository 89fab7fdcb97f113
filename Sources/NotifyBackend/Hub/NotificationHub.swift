public import Foundation
import Synchronization

/// An in-memory notification hub: registrations with tags, sends by tag expression, and an inbox for each device.
///
/// It replaces the cloud hub behind a notify-users backend and checks no more than that does: it accepts any tag, any
/// id and any caller. Every method may be called from any thread and is atomic. ``HubLimits`` bounds everything; the
/// oldest entries are dropped first.
public final class NotificationHub: Sendable {
    let limits: HubLimits
    private let now: @Sendable () -> Date
    private let randomNumber: @Sendable () -> UInt64
    private let state: Mutex<HubState>

    /// Creates an empty hub.
    ///
    /// - Parameters:
    ///   - limits: the capacities.
    ///   - now: the clock for the times of deliveries.
    ///   - randomNumber: the source of registration ids; any 64 bits.
    public init(
        limits: HubLimits = HubLimits(),
        now: @escaping @Sendable () -> Date = { Date() },
        randomNumber: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) {
        self.limits = limits
        self.now = now
        self.randomNumber = randomNumber
        state = Mutex(HubState(limits: limits))
    }

    /// All registrations, oldest first.
    public func registrations() -> [Registration] {
        state.withLock { $0.registrations.elements.map(\.value.registration) }
    }

    /// Returns the notifications of the device with this handle, oldest first; empty for an unknown handle.
    ///
    /// A handle of hexadecimal digits is an APNs handle and is case-insensitive. An inbox outlives its registration.
    public func inbox(ofHandle handle: String) -> [DeliveredNotification] {
        state.withLock { $0.inboxes[HubState.inboxKey(handle)] ?? [] }
    }

    /// Makes the next `times` operations of this kind fail, in addition to earlier injections.
    public func inject(_ fault: HubFault, times: Int = 1) {
        state.withLock { $0.faults[fault, default: 0] += max(0, times) }
    }

    /// Expires a registration as a hub does: it receives nothing any more, and upserts of its id fail as gone.
    ///
    /// Returns whether there was such a registration.
    @discardableResult
    public func expire(registration id: String) -> Bool {
        state.withLock { $0.expire(id) }
    }

    /// Returns a new id without a registration. Ids have the form `7260336227650468927-4200236381151834034-1`.
    func reserveID() throws(HubFailure) -> String {
        guard !takeFault(.reserveFails) else { throw .failed }
        let (first, second, third) = (randomNumber() >> 1, randomNumber() >> 1, randomNumber() % 9 + 1)
        return "\(first)-\(second)-\(third)"
    }

    /// Returns the first `limit` registrations that the handle's filter finds, oldest first.
    func registrations(foundBy handle: String, limit: Int) throws(HubFailure) -> [Registration] {
        guard !takeFault(.lookUpFails) else { throw .failed }
        let filter = try ChannelFilter(pasting: handle)
        return state.withLock { Array($0.found(by: filter).prefix(limit)) }
    }

    /// Registers a device under any id, also one that the hub did not issue. Replaces an existing registration.
    func upsert(id: String, platform: String, handle: String, tags: [String]) throws(HubFailure) {
        if takeFault(.upsertBusy) { throw .busy }
        if takeFault(.upsertGone) { throw .gone }
        if takeFault(.upsertFails) { throw .failed }
        guard case .registration(let id) = try HubAddress(id: id), id.utf8.count <= 256, handle.utf8.count <= 4096,
            !handle.isEmpty
        else { throw .badRequest }
        let stored = try HubTag.stored(tags)
        let registration = Registration(
            id: id,
            platform: platform,
            handle: platform == "apns" ? handle.uppercased() : handle,
            tags: stored
        )
        let isGone = state.withLock { state in
            if state.gone[id] != nil { return true }
            state.put(registration)
            return false
        }
        if isGone { throw .gone }
    }

    /// Deletes what the id addresses: a registration, or everything in the hub for `..`.
    func delete(id: String) throws(HubFailure) {
        if takeFault(.deleteFails) { throw .failed }
        let address = try HubAddress(id: id)
        let found = state.withLock { state in
            switch address {
            case .hub:
                state.removeAll()
                return true
            case .registration(let id): return state.remove(id)
            }
        }
        guard found else { throw .notFound }
    }

    /// Sends to every registration of the service that matches the expression and returns their number.
    ///
    /// A payload above the service's limit is accepted and delivered to nobody; the result is 0.
    @discardableResult
    func send(_ payload: String, pns: String, to expression: String) throws(HubFailure) -> Int {
        if takeFault(.sendFails) { throw .failed }
        guard let service = PushService(word: pns), payload.utf8.count <= 64 << 10 else { throw .badRequest }
        let expression = try TagExpression(parsing: expression)
        guard payload.utf8.count <= service.payloadLimit else { return 0 }
        let at = now()
        let (count, overrun) = state.withLock { state in
            state.deliver(payload, pns: pns, service: service, to: expression, at: at)
        }
        // Finishing a stream calls back into the hub, so it must happen without the lock.
        for stream in overrun { stream.finish() }
        return count
    }

    private func takeFault(_ fault: HubFault) -> Bool {
        state.withLock { $0.takeFault(fault) }
    }
}

extension NotificationHub {
    /// The number of open live inbox streams.
    public var subscriberCount: Int { state.withLock { $0.subscriberCount } }

    /// Opens a live inbox: the existing notifications first, then every further delivery, with heartbeats between.
    ///
    /// Returns nil if ``HubLimits/subscribers`` are open. The stream finishes when its reader falls
    /// ``HubState/streamBuffer`` events behind. Dropping the stream closes the subscription.
    func subscribe(toHandle handle: String) -> AsyncStream<InboxEvent>? {
        let opened = state.withLock { $0.subscribe(to: HubState.inboxKey(handle)) }
        guard let (id, stream, continuation) = opened else { return nil }
        // The handler captures only the id. If it captured the stream, dropping the stream would never end it.
        continuation.onTermination = { [weak self] _ in self?.unsubscribe(id) }
        return stream
    }

    /// Sends a heartbeat to every live inbox, so that connections of disconnected clients are found and closed.
    func sendHeartbeats() {
        let overrun = state.withLock { $0.beat() }
        for stream in overrun { stream.finish() }
    }

    private func unsubscribe(_ id: UInt64) {
        // Destroyed without the lock, because the continuation may be the last reference to its stream.
        let removed = state.withLock { $0.unsubscribe(id) }
        _ = removed
    }
}
