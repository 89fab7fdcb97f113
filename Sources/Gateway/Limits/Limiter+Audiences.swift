internal import GatewayCore
internal import Synchronization

/// The members of an audience that a send reaches, and those that it skips.
struct AudienceAdmission: Sendable {
    var reached: [UserName] = []
    var skipped: [SkippedMember] = []
    /// The names of shadow limits that would have rejected the send or skipped a member.
    var shadowRejected: [String] = []
}

/// A member of an audience that a send skips.
struct SkippedMember: Sendable, Hashable {
    var user: UserName
    /// The limit by recipient that is exhausted for the member.
    var limit: String
}

extension Limiter {
    /// The number of members that are charged each time the table is locked, so that other calls do not wait for a
    /// whole audience.
    private static let membersAtOnce = 16

    /// Charges a send to an audience. Limits that do not count by recipient are charged the cost of the audience, and
    /// reject the whole send if exhausted. Limits by recipient are checked for each member, and members over the limit
    /// are skipped.
    func admit(
        _ caller: Identity, at peer: Peer, sending send: RequestedAudienceSend, to members: [UserName],
        _ chargeMode: ChargeMode = .charged
    ) throws(Rejection) -> AudienceAdmission {
        let subject = LimitSubject(caller, at: peer, sending: send)
        let (common, each) = charges(subject, members)
        let now = now
        let decision = store.table.withLock { table in
            chargeMode == .charged ? table.admit(common, now: now) : table.check(common, now: now)
        }
        if chargeMode == .charged { recordExhausted(decision, subject) }
        if let exhausted = decision.rejected { throw rejection(exhausted) }
        var shadowRejected = decision.shadowRejected
        var admitted = AudienceAdmission()
        admitted.reached.reserveCapacity(members.count)
        for start in stride(from: 0, to: members.count, by: Self.membersAtOnce) {
            let part = start..<min(start + Self.membersAtOnce, members.count)
            let decisions = store.table.withLock { table in
                part.map { chargeMode == .charged ? table.admit(each[$0], now: now) : table.check(each[$0], now: now) }
            }
            for (member, decision) in zip(members[part], decisions) {
                if chargeMode == .charged { recordExhausted(decision, subject, recipient: member) }
                shadowRejected += decision.shadowRejected
                if let exhausted = decision.rejected {
                    let limit = rules[exhausted.charge.rule].limit.name
                    admitted.skipped.append(SkippedMember(user: member, limit: limit))
                } else {
                    admitted.reached.append(member)
                }
            }
        }
        admitted.shadowRejected = names(shadowRejected)
        return admitted
    }

    /// Returns the charges of a send to an audience: those of the send, and those of each member.
    func charges(_ subject: LimitSubject, _ members: [UserName]) -> (common: [LimitCharge], each: [[LimitCharge]]) {
        var common: [LimitCharge] = []
        var digests = SubjectDigests(subject, store.digests)
        for (index, rule) in rules.enumerated() where !rule.isByRecipient && !rule.countsLogins {
            let cost = rule.limit.audienceCost == .member ? members.count : 1
            rule.append(subject, digests, cost: cost, to: &common, as: index)
        }
        let byRecipient = rules.enumerated().filter { $0.element.isByRecipient }
        if byRecipient.isEmpty { return (common, members.map { _ in [] }) }
        var one = subject
        let each = members.map { member -> [LimitCharge] in
            one.recipient = member
            digests.recipient = store.digests.user(member)
            var charges: [LimitCharge] = []
            for (index, rule) in byRecipient { rule.append(one, digests, to: &charges, as: index) }
            return charges
        }
        return (common, each)
    }
}
