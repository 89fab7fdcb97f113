internal import NIOCore
internal import Synchronization

/// The connections of the control socket, counted. A slot is taken until its connection is closed and its operation has ended,
/// whichever is later: who hangs up and asks again cannot pile operations up.
final class ControlSlots: Sendable {
    /// What becomes of a connection.
    enum Kind: Sendable {
        /// Its request is carried out.
        case served
        /// It is told why not.
        case turnedAway
    }

    private struct Slot {
        let channel: any Channel
        let kind: Kind
        var holders = 1
    }

    private struct State {
        var slots: [ObjectIdentifier: Slot] = [:]
        var waiters: [EventLoopPromise<Void>] = []
    }

    private let state = Mutex(State())
    private let settings: ControlSettings

    init(_ settings: ControlSettings) { self.settings = settings }

    /// Takes a slot for a connection until it is closed; false where all of the kind are taken.
    func take(_ channel: any Channel, _ kind: Kind) -> Bool {
        let most = kind == .served ? settings.connections : settings.turnedAway
        let isTaken = state.withLock { state in
            guard state.slots.values.count(where: { $0.kind == kind }) < most else { return false }
            state.slots[ObjectIdentifier(channel)] = Slot(channel: channel, kind: kind)
            return true
        }
        if isTaken { channel.closeFuture.whenComplete { _ in self.release(channel) } }
        return isTaken
    }

    /// Keeps the slot of a connection, closed or not, until `release`.
    func hold(_ channel: any Channel) {
        state.withLock { $0.slots[ObjectIdentifier(channel)]?.holders += 1 }
    }

    /// Gives a hold up, and with the last one the slot.
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

    /// Succeeds the promise once no slot is taken.
    func whenEmpty(_ promise: EventLoopPromise<Void>) {
        let isEmpty = state.withLock { state in
            if !state.slots.isEmpty { state.waiters.append(promise) }
            return state.slots.isEmpty
        }
        if isEmpty { promise.succeed() }
    }
}
