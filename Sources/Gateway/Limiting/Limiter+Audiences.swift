internal import GatewayCore
internal import Synchronization

/// Those members of an audience that a send goes to, and those that it skips.
struct AdmittedMembers: Sendable {
    var reached: [UserName] = []
    var skipped: [SkippedMember] = []
}

/// A member of an audience that is spared a send.
struct SkippedMember: Sendable, Hashable {
    var user: UserName
    /// The limit that the member has spent.
    var limit: String
}

extension Limiter {
    /// Charges a send to an audience. What counts sends by sender or service is charged one a member, or the send is refused
    /// whole; what counts by recipient is asked of each member, and whoever has spent it is skipped.
    func admit(
        _ user: UserName, sending send: RequestedAudienceSend, to members: [UserName], _ payment: Payment = .charged
    ) throws(Refusal) -> AdmittedMembers {
        let (common, each) = charges(user, sending: send, to: members)
        let now = clocks.monotonic().nanoseconds
        let outcome = table.withLock { table in
            payment == .charged
                ? table.admit(common, each: each, now: now) : table.look(common, each: each, now: now)
        }
        if let spent = outcome.spent { throw refusal(spent) }
        var admitted = AdmittedMembers()
        for (member, spent) in zip(members, outcome.spentOfEach) {
            if let spent {
                admitted.skipped.append(SkippedMember(user: member, limit: rules[spent.key.limit].limit.name))
            } else {
                admitted.reached.append(member)
            }
        }
        return admitted
    }

    /// What a send to an audience is charged: once, and for each member.
    func charges(
        _ user: UserName, sending send: RequestedAudienceSend, to members: [UserName]
    ) -> (common: [LimitTable.Charge], each: [[LimitTable.Charge]]) {
        var common: [LimitTable.Charge] = []
        for (index, rule) in rules.enumerated() where !rule.limit.per.contains(.recipient) {
            let probe = RequestedSend(service: send.service, recipient: user, text: "")
            guard let key = Self.key(rule.limit, index, user, probe) else { continue }
            common.append(.init(key: key, rate: rule.rate, cost: rule.limit.per == [.user] ? 1 : members.count))
        }
        let each = members.map { member in
            let one = RequestedSend(service: send.service, recipient: member, text: "")
            return rules.enumerated().compactMap { index, rule -> LimitTable.Charge? in
                guard rule.limit.per.contains(.recipient) else { return nil }
                return Self.key(rule.limit, index, user, one).map { .init(key: $0, rate: rule.rate) }
            }
        }
        return (common, each)
    }
}
