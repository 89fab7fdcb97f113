internal import GatewayCore
internal import GatewayHTTP
internal import NIOCore
internal import Synchronization

/// The counter of connections of a server for operators. A slot is taken until both the connection is closed and its
/// operation has finished, so a peer that reconnects cannot accumulate operations.
final class ControlSlots: Sendable {
    /// The treatment of a connection.
    enum Kind: Sendable {
        /// The request is carried out.
        case served
        /// The request is rejected with a reason.
        case rejected
    }

    private struct Slot {
        let channel: any Channel
        let kind: Kind
        /// The counted address; nil if addresses are not counted.
        let address: Peer.Address?
        /// The place in the order of acceptance.
        let number: UInt64
        /// Whether the request is complete.
        var isComplete = false
        /// Whether the connection was closed to make room. It is not counted any more.
        var isEvicted = false
        var holders = 1
    }

    private struct State {
        var slots: [ObjectIdentifier: Slot] = [:]
        var waiters: [EventLoopPromise<Void>] = []
        var accepted: UInt64 = 0

        /// Returns the number of connections of a kind.
        func count(_ kind: Kind) -> Int { slots.values.count { $0.kind == kind && !$0.isEvicted } }

        /// Marks the oldest connection whose request is incomplete, and returns it; nil if all are complete.
        mutating func evictOldest(_ kind: Kind) -> (any Channel)? {
            let incomplete = slots.filter { $0.value.kind == kind && !$0.value.isComplete && !$0.value.isEvicted }
            guard let oldest = incomplete.min(by: { $0.value.number < $1.value.number }) else { return nil }
            slots[oldest.key]?.isEvicted = true
            return oldest.value.channel
        }
    }

    private let state = Mutex(State())
    private let settings: ControlSettings

    init(_ settings: ControlSettings) { self.settings = settings }

    /// Takes a slot for a connection until it is closed. Returns false if no slot of the kind is free.
    func acquire(_ channel: any Channel, _ kind: Kind) -> Bool {
        let most = kind == .served ? settings.connections : settings.rejectedConnections
        let address = settings.connectionsPerAddress == nil ? nil : channel.remoteAddress.flatMap(Peer.init)?.limitKey
        let (isAcquired, evicted) = state.withLock { state -> (Bool, (any Channel)?) in
            if let address, let most = settings.connectionsPerAddress {
                guard state.slots.values.count(where: { $0.address == address }) < most else { return (false, nil) }
            }
            var evicted: (any Channel)?
            if state.count(kind) >= most {
                // Connections that only wait must not keep out those that ask.
                guard settings.evictsIncompleteRequests, let oldest = state.evictOldest(kind) else {
                    return (false, nil)
                }
                evicted = oldest
            }
            state.accepted += 1
            state.slots[ObjectIdentifier(channel)] = Slot(
                channel: channel, kind: kind, address: address, number: state.accepted)
            return (true, evicted)
        }
        evicted?.close(promise: nil)
        if isAcquired { channel.closeFuture.whenComplete { _ in self.release(channel) } }
        return isAcquired
    }

    /// Declares that the request of a connection is complete, so that the connection is not closed to make room.
    func complete(_ channel: any Channel) { state.withLock { $0.slots[ObjectIdentifier(channel)]?.isComplete = true } }

    /// Keeps the slot of a connection until `release`, even if the connection closes.
    func hold(_ channel: any Channel) {
        state.withLock { $0.slots[ObjectIdentifier(channel)]?.holders += 1 }
    }

    /// Releases one hold of a slot. The last one frees it.
    func release(_ channel: any Channel) {
        let waiters: [EventLoopPromise<Void>] = state.withLock { state in
            let id = ObjectIdentifier(channel)
            state.slots[id]?.holders -= 1
            if state.slots[id]?.holders == 0 { state.slots[id] = nil }
            guard state.slots.isEmpty else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.succeed() }
    }

    /// The connections of all slots.
    var channels: [any Channel] { state.withLock { $0.slots.values.map(\.channel) } }

    /// Completes the promise once all slots are free.
    func whenEmpty(_ promise: EventLoopPromise<Void>) {
        let isEmpty = state.withLock { state in
            if !state.slots.isEmpty { state.waiters.append(promise) }
            return state.slots.isEmpty
        }
        if isEmpty { promise.succeed() }
    }
}
