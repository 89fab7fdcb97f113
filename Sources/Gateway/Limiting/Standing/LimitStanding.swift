public import GatewayCore
internal import Synchronization

/// How a limit stands for a call: what of it is left, and how long until there is enough.
public struct LimitStanding: Sendable, Hashable {
    /// The limit's name.
    public let limit: String
    /// For which user it counts; nil where it does not count by user or sender.
    public let user: UserName?
    /// For which group of the caller it counts; nil where it does not count by group.
    public let group: GroupName?
    /// For which recipient it counts; nil where it does not count by recipient.
    public let recipient: UserName?
    /// For which address it counts, of IPv6 the /64; nil where it does not count by address.
    public let address: Peer.Address?
    /// For which service it counts; nil where it does not count by service.
    public let service: PushService?
    /// How many calls would be admitted now.
    public let left: Int
    /// How many at once it ever admits.
    public let burst: Int
    /// How many of them this call is: more than one for the sends to an audience.
    public let cost: Int
    /// For how many seconds from now the call would be refused; 0 where it would not.
    public let seconds: Int
    /// Whether the limit is in trial: it says what it would refuse, and refuses nobody.
    public let isShadow: Bool
}

extension Limiter {
    /// How the limits stand that count a call. Nobody is charged.
    func standings(of caller: Identity, at peer: Peer, sending send: RequestedSend?) -> [LimitStanding] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        return standings(charges(subject).map { ($0, names(of: $0, subject)) })
    }

    /// How the limits stand that count a send to an audience: those that count it once, then each member's.
    func standings(
        of caller: Identity, at peer: Peer, sending send: RequestedAudienceSend, to members: [UserName]
    ) -> [LimitStanding] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        let (common, each) = charges(subject, members)
        var one = subject
        let charged = zip(members, each).flatMap { member, charges in
            one.recipient = member
            return charges.map { ($0, names(of: $0, one)) }
        }
        return standings(common.map { ($0, names(of: $0, subject)) } + charged)
    }

    func standings(_ charges: [(LimitCharge, LimitNames)]) -> [LimitStanding] {
        let now = now
        let arrivals = store.table.withLock { table in charges.map { table.arrival(of: $0.0.key) } }
        return zip(charges, arrivals).map { entry, arrival in
            let (charge, names) = entry
            let limit = rules[charge.rule].limit
            return LimitStanding(
                limit: limit.name, user: names.user, group: names.group, recipient: names.recipient,
                address: names.address, service: names.service, left: charge.rate.left(arrival: arrival, now: now),
                burst: limit.burst, cost: charge.cost,
                seconds: charge.rate.wait(arrival: arrival, now: now, cost: charge.cost).secondsRoundedUp,
                isShadow: limit.isShadow)
        }
    }

    /// Remembers by name what was found spent, and counts what limits in trial would have refused.
    func note(_ verdict: LimitVerdict, _ subject: LimitSubject, recipient: UserName? = nil) {
        if verdict.spent == nil, verdict.shadowed.isEmpty { return }
        var subject = subject
        if let recipient { subject.recipient = recipient }
        // A limit that counts by group may have more than one key of a call.
        for rule in Set(verdict.shadowed.map(\.rule)) { noteTrial(rule) }
        let spent = verdict.shadowed + (verdict.spent.map { [$0.charge] } ?? [])
        store.refused.withLock { refused in
            for charge in spent where !refused.knows(charge.key) {
                refused.note(charge.key, names(of: charge, subject))
            }
        }
    }

    private func names(of charge: LimitCharge, _ subject: LimitSubject) -> LimitNames {
        LimitNames(subject, rules[charge.rule].limit, group: charge.group)
    }
}
