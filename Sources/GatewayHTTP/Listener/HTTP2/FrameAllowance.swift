internal import GatewayCore
internal import NIOCore

/// An allowance for events of a client that do not advance a request. It refills over time and with served calls.
struct FrameAllowance {
    /// The maximum of the allowance, in events.
    static let maximum = 200
    /// The time in which an empty allowance refills completely.
    static let span = TimeAmount.seconds(30)
    /// The part of the allowance that a served call refunds. Such a call usually needs some window updates and pings.
    private static let refundPerCall = 4

    private var left = FrameAllowance.maximum
    private var refilled: NIODeadline

    init(now: NIODeadline) { refilled = now }

    /// Charges one event. Returns false if the allowance is exhausted.
    mutating func charge(now: NIODeadline) -> Bool {
        guard !isExhausted(now: now) else { return false }
        left -= 1
        return true
    }

    /// Refunds a part of the allowance after a served call.
    mutating func refund() { left = min(Self.maximum, left + Self.refundPerCall) }

    /// Whether nothing of the allowance is spent.
    var isFull: Bool { left == Self.maximum }

    /// Returns whether the whole allowance is spent.
    mutating func isExhausted(now: NIODeadline) -> Bool {
        refill(now)
        return left == 0
    }

    private mutating func refill(_ now: NIODeadline) {
        let step = Self.span.nanoseconds / Int64(Self.maximum)
        let steps = (now - refilled).nanoseconds / step
        guard steps > 0 else { return }
        left = min(Self.maximum, left + Int(min(steps, Int64(Self.maximum))))
        refilled = refilled + .nanoseconds(steps * step)
    }
}

/// The allowances of clients whose requests arrive through trusted proxies on the connections of one event loop.
///
/// A proxy passes on what its clients do: aborted requests, rejected requests, bodies in small pieces. The connection
/// carries the requests of many clients, so each client pays for its own, and only its own requests are rejected.
/// Loop-bound.
struct ProxiedClientAllowances {
    /// The maximum number of clients with a partly spent allowance. Beyond it, further clients are not charged.
    static let maximumClients = 4096

    private var clients: [Peer.Address: FrameAllowance] = [:]
    private var nextSweep = NIODeadline.uptimeNanoseconds(0)

    /// Whether no client has spent a part of its allowance.
    var isEmpty: Bool { clients.isEmpty }

    /// Charges one event to the client.
    mutating func charge(_ client: Peer.Address, now: NIODeadline) {
        if clients[client] == nil, clients.count >= Self.maximumClients { sweep(now) }
        guard clients[client] != nil || clients.count < Self.maximumClients else { return }
        _ = clients[client, default: FrameAllowance(now: now)].charge(now: now)
    }

    /// Refunds a part of the client's allowance after a served call.
    mutating func refund(_ client: Peer.Address) {
        clients[client]?.refund()
        if clients[client]?.isFull == true { clients[client] = nil }
    }

    /// Returns whether the client has spent its whole allowance.
    mutating func isExhausted(_ client: Peer.Address, now: NIODeadline) -> Bool {
        clients[client]?.isExhausted(now: now) ?? false
    }

    /// Removes the clients whose allowance is full again, at most once a second.
    private mutating func sweep(_ now: NIODeadline) {
        guard now >= nextSweep else { return }
        nextSweep = now + .seconds(1)
        for client in Array(clients.keys) {
            _ = clients[client]?.isExhausted(now: now)
            if clients[client]?.isFull == true { clients[client] = nil }
        }
    }
}
