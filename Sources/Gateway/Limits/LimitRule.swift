internal import GatewayCore

/// A limit prepared for evaluation. A class, because each call iterates over all rules and should not copy them.
final class LimitRule: Sendable {
    let limit: Limit
    let rate: GCRA
    /// The number of the limit in the table.
    let number: UInt16
    /// The item of the limit in `RateLimit-Policy`; nil if its state is not disclosed to callers.
    let policyItem: String?
    /// The beginning of its item in `RateLimit`.
    let statusPrefix: String

    private let countsCaller: Bool
    private let countsRecipient: Bool
    private let countsGroup: Bool
    private let countsAddress: Bool
    private let countsService: Bool
    /// Whether the rule counts only sends.
    let countsSendsOnly: Bool
    /// Whether the rule counts only logins.
    let countsLogins: Bool

    /// - Parameter isShared: Whether nodes share the limit's keys.
    init(_ limit: Limit, number: UInt16, isShared: Bool) {
        self.limit = limit
        self.number = number
        rate = limit.rate(isShared: isShared)
        policyItem = RateLimitFields.policyItem(of: limit)
        statusPrefix = "\"\(limit.name)\";r="
        countsCaller = limit.per.contains(.sender) || limit.per.contains(.user)
        countsRecipient = limit.per.contains(.recipient)
        countsGroup = limit.per.contains(.group)
        countsAddress = limit.per.contains(.address)
        countsService = limit.per.contains(.pns)
        countsSendsOnly = limit.countsSendsOnly
        countsLogins = limit.countsLogins
    }

    /// Whether the rule checks each member of an audience separately.
    var isByRecipient: Bool { countsRecipient }

    /// Appends the charges of the call: one, or one for each group if the rule counts by group; none if the call is not
    /// counted.
    func append(
        _ subject: LimitSubject, _ digests: SubjectDigests, cost: Int = 1, to charges: inout [LimitCharge], as rule: Int
    ) {
        guard counts(subject) else { return }
        var charge = LimitCharge(
            key: key(subject, digests), rate: rate, cost: cost, isShadow: limit.isShadow, rule: rule)
        guard countsGroup else {
            charges.append(charge)
            return
        }
        for group in subject.groups {
            charge.key.group = digests.group(group)
            charge.group = group
            charges.append(charge)
        }
    }

    /// Returns the key that the call is counted under, without the group.
    func key(_ subject: LimitSubject, _ digests: SubjectDigests) -> LimitKey {
        var key = LimitKey(limit: number)
        if countsCaller { key.caller = digests.caller }
        if countsRecipient { key.recipient = digests.recipient }
        if countsAddress { key.address = digests.address }
        if countsService { key.service = subject.service.map(LimitKey.number) ?? 0 }
        return key
    }

    /// Returns whether the rule counts the call.
    func counts(_ subject: LimitSubject) -> Bool {
        if countsSendsOnly && !subject.isSend { return false }
        if countsCaller && subject.user == nil { return false }
        if countsRecipient && subject.recipient == nil { return false }
        if countsAddress && subject.address == nil { return false }
        if countsService && subject.service == nil { return false }
        return !exempts(subject)
    }

    /// Returns whether the caller is exempt.
    func exempts(_ subject: LimitSubject) -> Bool {
        limit.exempt.contains { exempt in
            switch exempt {
            case .anyUser: true
            case .user(let user): user == subject.user
            case .group(let group): subject.groups.contains(group)
            }
        }
    }
}

extension Limit {
    /// Returns the rate of the limit's keys.
    func rate(isShared: Bool) -> GCRA {
        let rate = GCRA(count: count, period: period, burst: burst)
        return isShared ? rate.shared : rate
    }
}

/// A charge to one key of one limit.
struct LimitCharge: Sendable {
    var key: LimitKey
    let rate: GCRA
    /// The number of calls to charge.
    var cost = 1
    /// Whether the limit is in shadow mode and rejects no call.
    var isShadow = false
    /// The index of the rule in its limiter.
    var rule = 0
    /// The charged group, if the limit counts by group.
    var group: GroupName?
}

/// The properties of a call that limits count by. A limit does not count a call for which one of its properties is nil.
struct LimitSubject: Sendable {
    /// The caller.
    var user: UserName?
    /// The groups of the caller.
    var groups: Set<GroupName> = []
    /// The address that limits count by (see `Peer.limitKey`).
    var address: Peer.Address?
    /// Whether the call is a send.
    var isSend = false
    /// The recipient of a send.
    var recipient: UserName?
    /// The push service of a send.
    var service: PushService?

    init() {}

    /// Creates the subject of a call that is not a send.
    init(_ caller: Identity, at peer: Peer) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
    }

    /// Creates the subject of a send to one user, or of another call if `send` is nil.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedSend?) {
        user = caller.user
        groups = caller.groups
        address = peer.limitKey
        guard let send else { return }
        isSend = true
        recipient = send.recipient
        service = send.service
    }

    /// Creates the subject of a send to an audience, without a recipient. The caller sets the recipient for each
    /// member.
    init(_ caller: Identity, at peer: Peer, sending send: RequestedAudienceSend) {
        self.init(caller, at: peer)
        isSend = true
        service = send.service
    }
}
