public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The state of a limit for a call: the remaining calls, and the wait until the call is admitted.
public struct LimitStatus: Sendable, Hashable {
    /// The name of the limit.
    public let limit: String
    /// The counted user; nil if the limit does not count by user or sender.
    public let user: UserName?
    /// The counted group of the caller; nil if the limit does not count by group.
    public let group: GroupName?
    /// The counted recipient; nil if the limit does not count by recipient.
    public let recipient: UserName?
    /// The counted address, the /64 for IPv6; nil if the limit does not count by address.
    public let address: Peer.Address?
    /// The counted push service; nil if the limit does not count by service.
    public let service: PushService?
    /// The number of calls that would be admitted now.
    public let remaining: Int
    /// The maximum number of calls that are admitted at once.
    public let burst: Int
    /// The cost of the call; more than one for a send to an audience.
    public let cost: Int
    /// The time until the call is admitted, in seconds; 0 for now.
    public let seconds: Int
    /// Whether the limit is in shadow mode: it reports the calls that it would reject, and rejects none.
    public let isShadow: Bool
}

extension Limiter {
    /// Returns the state of the limits that count a call. Charges nothing.
    func statuses(of caller: Identity, at peer: Peer, sending send: RequestedSend?) -> [LimitStatus] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        return statuses(charges(subject).map { ($0, names(of: $0, subject)) })
    }

    /// Returns the state of the limits that count a send to an audience: those of the send first, then those of each
    /// member.
    func statuses(
        of caller: Identity, at peer: Peer, sending send: RequestedAudienceSend, to members: [UserName]
    ) -> [LimitStatus] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        let (common, each) = charges(subject, members)
        var one = subject
        let charged = zip(members, each).flatMap { member, charges in
            one.recipient = member
            return charges.map { ($0, names(of: $0, one)) }
        }
        return statuses(common.map { ($0, names(of: $0, subject)) } + charged)
    }

    /// Returns the state of the limits that these charges concern. Charges nothing.
    func statuses(_ charges: [(LimitCharge, LimitNames)]) -> [LimitStatus] {
        let now = now
        let arrivals = store.table.withLock { table in charges.map { table.theoreticalArrival(of: $0.0.key) } }
        return zip(charges, arrivals).map { entry, theoreticalArrival in
            let (charge, names) = entry
            let limit = rules[charge.rule].limit
            return LimitStatus(
                limit: limit.name, user: names.user, group: names.group, recipient: names.recipient,
                address: names.address, service: names.service,
                remaining: charge.rate.remaining(theoreticalArrival: theoreticalArrival, now: now),
                burst: limit.burst, cost: charge.cost,
                seconds: charge.rate.wait(theoreticalArrival: theoreticalArrival, now: now, cost: charge.cost)
                    .secondsRoundedUp,
                isShadow: limit.isShadow)
        }
    }

    /// Stores the user, group and address of each exhausted key for operator commands, and counts the calls that shadow
    /// limits would have rejected.
    func recordExhausted(_ decision: LimitDecision, _ subject: LimitSubject, recipient: UserName? = nil) {
        if decision.rejected == nil, decision.shadowRejected.isEmpty { return }
        var subject = subject
        if let recipient { subject.recipient = recipient }
        // A limit by group may have several keys for one call.
        for rule in Set(decision.shadowRejected.map(\.rule)) { recordShadowRejection(rule) }
        let exhausted = decision.shadowRejected + (decision.rejected.map { [$0.charge] } ?? [])
        store.throttledKeys.withLock { keys in
            for charge in exhausted where !keys.renew(charge.key) {
                keys.insert(charge.key, names(of: charge, subject))
            }
        }
    }

    private func names(of charge: LimitCharge, _ subject: LimitSubject) -> LimitNames {
        LimitNames(subject, rules[charge.rule].limit, group: charge.group)
    }
}

/// The user, group, recipient, address and service that a key of a limit stands for.
struct LimitNames: Sendable, Hashable {
    var user: UserName?
    var group: GroupName?
    var recipient: UserName?
    var address: Peer.Address?
    var service: PushService?

    /// Copies the names that the limit counts by from the subject.
    init(_ subject: LimitSubject, _ limit: Limit, group: GroupName?) {
        if limit.per.contains(.sender) || limit.per.contains(.user) { user = subject.user }
        if limit.per.contains(.group) { self.group = group }
        if limit.per.contains(.recipient) { recipient = subject.recipient }
        if limit.per.contains(.address) { address = subject.address }
        if limit.per.contains(.pns) { service = subject.service }
    }
}

/// The names of the keys that were exhausted most recently, for operator commands. The limit table itself holds only
/// digests. Bounded: the keys that were not exhausted for longest are discarded.
struct ThrottledKeys: Sendable {
    /// The maximum number of keys.
    static let capacity = 1024

    private var names = BoundedMap<LimitKey, LimitNames>(capacity: capacity)

    /// Returns whether the key is stored, and protects a stored key from being discarded soon.
    mutating func renew(_ key: LimitKey) -> Bool { names.refresh(key) != nil }

    /// Stores a key with its names.
    mutating func insert(_ key: LimitKey, _ names: LimitNames) { self.names.insert(names, for: key) }

    /// All stored keys.
    var all: [(key: LimitKey, names: LimitNames)] { names.entries.map { ($0.key, $0.value) } }
}

extension LimitKey: OwnedKey {
    typealias Owner = SoleOwner
}
