internal import GatewayCore

/// A limit, ready to be asked. By reference: each call asks all of them, and none is copied for that.
final class LimitRule: Sendable {
    let limit: Limit
    let rate: CellRate
    /// The limit's number in the table.
    let number: UInt16
    /// Its item in `RateLimit-Policy`; nil where callers are not told.
    let policyItem: String?
    /// How its item in `RateLimit` begins.
    let standingPrefix: String

    private let countsCaller: Bool
    private let countsRecipient: Bool
    private let countsGroup: Bool
    private let countsAddress: Bool
    private let countsService: Bool
    /// Whether it counts sends, and no other call.
    let countsSendsOnly: Bool
    /// Whether it counts logins, and no call.
    let countsLogins: Bool

    init(_ limit: Limit, number: UInt16) {
        self.limit = limit
        self.number = number
        rate = CellRate(count: limit.count, period: limit.period, burst: limit.burst)
        policyItem = RateLimitFields.policyItem(of: limit)
        standingPrefix = "\"\(limit.name)\";r="
        countsCaller = limit.per.contains(.sender) || limit.per.contains(.user)
        countsRecipient = limit.per.contains(.recipient)
        countsGroup = limit.per.contains(.group)
        countsAddress = limit.per.contains(.address)
        countsService = limit.per.contains(.pns)
        countsSendsOnly = limit.countsSendsOnly
        countsLogins = limit.countsLogins
    }

    /// Whether it asks each member of an audience for itself.
    var isByRecipient: Bool { countsRecipient }

    /// Whether it counts calls that never came to the limits, too.
    var countsEveryCall: Bool { !countsSendsOnly && !countsLogins }

    /// Appends what the call is charged: once, or once for each group where groups count; nothing where the call is not counted.
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

    /// Under what it counts the call, but for the group.
    func key(_ subject: LimitSubject, _ digests: SubjectDigests) -> LimitKey {
        var key = LimitKey(limit: number)
        if countsCaller { key.caller = digests.caller }
        if countsRecipient { key.recipient = digests.recipient }
        if countsAddress { key.address = digests.address }
        if countsService { key.service = subject.service.map(LimitKey.number) ?? 0 }
        return key
    }

    /// Whether it counts the call.
    func counts(_ subject: LimitSubject) -> Bool {
        if countsSendsOnly && !subject.isSend { return false }
        if countsCaller && subject.user == nil { return false }
        if countsRecipient && subject.recipient == nil { return false }
        if countsAddress && subject.address == nil { return false }
        if countsService && subject.service == nil { return false }
        return !exempts(subject)
    }

    /// Whether the caller is none of its business.
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

/// What a call is charged under one key of one limit.
struct LimitCharge: Sendable {
    var key: LimitKey
    let rate: CellRate
    /// How many calls it stands for.
    var cost = 1
    /// Whether the limit refuses nobody.
    var isShadow = false
    /// The limit's place among those of its limiter.
    var rule = 0
    /// The group that is charged, where groups are.
    var group: GroupName?
}
