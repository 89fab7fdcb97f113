internal import GatewayCore
internal import Synchronization

/// What callers are told of their limits: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11).
///
/// Only limits that count by sender and user alone: how one of a recipient, a group or an address stands would tell what
/// others do. Nor limits in trial, which refuse nobody. What never changes is made once.
struct RateLimitFields: Sendable {
    /// The rules that callers are told of.
    let rules: [LimitRule]
    /// The policies that count a send, and those that count any other call.
    private let ofSends: Answer.Field
    private let ofOthers: Answer.Field
    /// How many of the rules count other calls than sends.
    private let otherCount: Int

    init(_ all: [LimitRule]) {
        let rules = all.filter { $0.policyItem != nil }
        self.rules = rules
        ofSends = Self.policy(rules)
        let others = rules.filter { !$0.countsSendsOnly }
        ofOthers = Self.policy(others)
        otherCount = others.count
    }

    /// One limit as `RateLimit-Policy` lists it: the name, `q` calls in each `w` seconds. Nil where callers are not told, and
    /// for names that would need more than quotation marks (RFC 9651, section 3.3.3).
    static func policyItem(of limit: Limit) -> String? {
        let isPlain = limit.name.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard limit.isOfCallerAlone, isPlain, !limit.name.isEmpty else { return nil }
        return "\"\(limit.name)\";q=\(limit.count);w=\(max(1, limit.period.secondsRoundedUp))"
    }

    private static func policy(_ rules: [LimitRule]) -> Answer.Field {
        Answer.Field("RateLimit-Policy", rules.compactMap(\.policyItem).joined(separator: ", "))
    }

    /// The policies that count a call, so many of them; those of whoever is exempt from some are put together for the occasion.
    fileprivate func policy(_ subject: LimitSubject, count: Int) -> Answer.Field {
        if count == (subject.isSend ? rules.count : otherCount) { return subject.isSend ? ofSends : ofOthers }
        return Self.policy(rules.filter { $0.counts(subject) })
    }
}

extension Limiter {
    /// What the caller is told of the limits that count a call like this one, as they stand now: `r` calls are left at once, and
    /// after `t` seconds all are there again. Nothing where callers are told of none. Nobody is charged.
    func fields(for caller: Identity, isSend: Bool) -> [Answer.Field] {
        if fields.rules.isEmpty { return [] }
        var subject = LimitSubject()
        (subject.user, subject.groups, subject.isSend) = (caller.user, caller.groups, isSend)
        let digests = SubjectDigests(subject, store.digests)
        let now = now
        var count = 0
        let text = String(expecting: 48 * fields.rules.count) { text in
            count = 0
            for rule in fields.rules where rule.counts(subject) {
                // Of the caller alone: there is one key.
                let key = rule.key(subject, digests)
                let arrival = store.table.withLock { $0.arrival(of: key) }
                if count > 0 { text.append(", ") }
                text.append(text: rule.standingPrefix)
                text.append(decimal: min(rule.limit.count, rule.rate.left(arrival: arrival, now: now)))
                text.append(";t=")
                text.append(decimal: rule.rate.debt(arrival: arrival, now: now).secondsRoundedUp)
                count += 1
            }
        }
        return count == 0 ? [] : [fields.policy(subject, count: count), Answer.Field("RateLimit", text)]
    }
}

/// Who is told how the limits stand, and of what kind of call.
struct ToldCaller {
    let caller: Identity
    let isSend: Bool

    init(_ identified: borrowing IdentifiedCall) {
        caller = identified.caller
        isSend = identified.call.isSend
    }
}
