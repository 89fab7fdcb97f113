public import Foundation
import Synchronization

/// An in-memory notification hub: registrations with tags, sends by tag expression, and an inbox for each device.
///
/// It replaces the cloud hub behind a notify-users backend and checks as little: it accepts any tag and any id from any
/// caller. All methods are thread-safe and atomic. All collections are bounded by ``HubLimits`` and evict their oldest
/// elements.
public final class NotificationHub: Sendable {
    let limits: HubLimits
    let now: @Sendable () -> Date
    private let randomNumber: @Sendable () -> UInt64
    let state: Mutex<HubState>

    /// Creates an empty hub.
    ///
    /// - Parameters:
    ///   - limits: The limits of the collections.
    ///   - now: The clock for delivery times.
    ///   - randomNumber: The source of registration ids; any 64 bits.
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

    /// Returns all registrations, oldest first.
    public func registrations() -> [Registration] {
        state.withLock { $0.registrations.elements.map(\.value.registration) }
    }

    /// Returns all registrations, oldest first, for a list of the REST interface.
    func listedRegistrations() throws(HubFailure) -> [Registration] {
        guard !consumeFault(.listBusy) else { throw .busy }
        return registrations()
    }

    /// Returns the notifications that the device with this handle received, oldest first; empty for an unknown handle.
    ///
    /// A handle of hexadecimal digits is an APNs handle and matched without case. An inbox outlives its registration.
    public func inbox(ofHandle handle: String) -> [DeliveredNotification] {
        state.withLock { $0.inboxes[HubState.inboxKey(handle)] ?? [] }
    }

    /// Makes the next `times` operations of the fault's kind fail, in addition to those injected before.
    /// For tests of a gateway against a failing hub.
    public func inject(_ fault: HubFault, times: Int = 1) {
        state.withLock { $0.faults[fault, default: 0] += max(0, times) }
    }

    /// Removes all injected faults that have not occurred.
    public func removeFaults() { state.withLock { $0.faults = [:] } }

    /// Expires a registration as a hub does: it receives nothing, and upserts of its id find it gone. For tests.
    ///
    /// Returns whether there was such a registration.
    @discardableResult
    public func expire(registration id: String) -> Bool {
        state.withLock { $0.expire(id) }
    }

    /// Returns a new id without a registration. Ids have the form `7260336227650468927-4200236381151834034-1`.
    func reserveID() throws(HubFailure) -> String {
        guard !consumeFault(.reserveFails) else { throw .failed }
        let (first, second, third) = (randomNumber() >> 1, randomNumber() >> 1, randomNumber() % 9 + 1)
        return "\(first)-\(second)-\(third)"
    }

    /// Returns the first `limit` registrations that match the handle's filter, oldest first.
    func registrations(foundBy handle: String, limit: Int) throws(HubFailure) -> [Registration] {
        guard !consumeFault(.lookUpFails) else { throw .failed }
        let filter = try ChannelFilter(pasting: handle)
        return state.withLock { Array($0.registrations(matching: filter).prefix(limit)) }
    }

    /// Returns the registrations with exactly this handle, oldest first.
    func registrations(ofHandle handle: String) throws(HubFailure) -> [Registration] {
        guard !consumeFault(.lookUpFails) else { throw .failed }
        return state.withLock { $0.registrations(ofHandle: handle) }
    }

    /// Registers a device under an id and replaces an existing registration. The id need not come from the hub.
    ///
    /// - Parameter version: The version that is replaced; nil for any, or none. Throws ``HubFailure/changed`` otherwise.
    /// - Returns: The stored registration.
    @discardableResult
    func upsert(
        id: String, platform: String, handle: String, tags: [String], replacing version: Int? = nil
    ) throws(HubFailure) -> Registration {
        if consumeFault(.upsertBusy) { throw .busy }
        if consumeFault(.upsertGone) { throw .gone }
        if consumeFault(.upsertFails) { throw .failed }
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
        return try state.withLock { state throws(HubFailure) in
            if state.gone[id] != nil { throw .gone }
            if let version, state.registrations[id]?.registration.version != version { throw .changed }
            return state.store(registration)
        }
    }

    /// Deletes the resource that an id addresses: a registration, or with `..` the contents of the hub.
    func delete(id: String) throws(HubFailure) {
        if consumeFault(.deleteFails) { throw .failed }
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

    /// Sends to every registration of the service that matches the expression, and returns their number.
    ///
    /// A payload over the service's limit is accepted and reaches nobody; the result is 0.
    @discardableResult
    func send(
        _ payload: String, pns: String, to expression: String, fields: [String: String] = [:]
    ) throws(HubFailure) -> Int {
        if consumeFault(.sendBusy) { throw .busy }
        if consumeFault(.sendFails) { throw .failed }
        guard let service = PushService(word: pns), payload.utf8.count <= 64 << 10 else { throw .badRequest }
        let expression = try TagExpression(parsing: expression)
        guard payload.utf8.count <= service.payloadLimit else { return 0 }
        let at = now()
        let (count, overrun) = state.withLock { state in
            state.deliver(payload, pns: pns, service: service, to: expression, fields: fields, at: at)
        }
        // Finishing a stream calls back into the hub, so it must not happen under the lock.
        for stream in overrun { stream.finish() }
        return count
    }

    private func consumeFault(_ fault: HubFault) -> Bool {
        state.withLock { $0.consumeFault(fault) }
    }
}

extension NotificationHub {
    /// The number of open live inbox streams. For tests.
    public var subscriberCount: Int { state.withLock { $0.subscriberCount } }

    /// Opens a live inbox: first its contents, then every further delivery, with heartbeats between.
    ///
    /// Returns nil if ``HubLimits/subscribers`` streams are open. The stream is closed when its reader falls
    /// ``HubState/streamBuffer`` events behind. Dropping the stream closes the subscription.
    func subscribe(toHandle handle: String) -> AsyncStream<InboxEvent>? {
        let opened = state.withLock { $0.subscribe(to: HubState.inboxKey(handle)) }
        guard let (id, stream, continuation) = opened else { return nil }
        // The handler must capture only the id. If it captured the stream, dropping the stream would not close it.
        continuation.onTermination = { [weak self] _ in self?.unsubscribe(id) }
        return stream
    }

    /// Sends a heartbeat to every live inbox, so that closed connections are detected.
    func sendHeartbeats() {
        let overrun = state.withLock { $0.sendHeartbeats() }
        for stream in overrun { stream.finish() }
    }

    private func unsubscribe(_ id: UInt64) {
        // Destroyed after the lock is released, because the continuation may be the last reference to its stream.
        let removed = state.withLock { $0.unsubscribe(id) }
        _ = removed
    }
}

/// The reason why a hub operation failed. Backends report little of it to their clients.
enum HubFailure: Error, Equatable {
    /// A malformed id, tag, filter or expression, or too many tags: the hub's 400.
    case badRequest
    /// The id is not registered: the hub's 404.
    case notFound
    /// The registration existed and is lost: the hub's 410.
    case gone
    /// The registration has another version than the request names: the hub's 412.
    case changed
    /// The hub is throttling or restarting; a retry may succeed.
    case busy
    /// Any other permanent failure.
    case failed
}

/// A failure that can be injected into the hub. Each injection affects one operation.
///
/// The raw value is the name in options and logs.
public enum HubFault: String, CaseIterable, Sendable {
    /// The next upsert fails permanently. `net6` responds with 200 although nothing is registered, the others with 500.
    case upsertFails = "upsert-fails"
    /// The next upsert fails because the hub is busy. `net6` responds with 503, the others with 500.
    case upsertBusy = "upsert-busy"
    /// The next upsert finds its registration lost. No backend responds with 410; it responds as to a permanent
    /// failure.
    case upsertGone = "upsert-gone"
    /// The next reservation of an id fails: 500.
    case reserveFails = "reserve-fails"
    /// The next lookup of a handle fails: 500.
    case lookUpFails = "look-up-fails"
    /// The next delete fails and the registration stays: 500.
    case deleteFails = "delete-fails"
    /// The next send fails and delivers nothing: 500.
    case sendFails = "send-fails"
    /// The next send fails because the hub is busy, and delivers nothing: 500; from the REST interface 429.
    case sendBusy = "send-busy"
    /// The next page of the list of all registrations, which only the REST interface has, fails because the hub is busy:
    /// 429.
    case listBusy = "list-busy"
}
