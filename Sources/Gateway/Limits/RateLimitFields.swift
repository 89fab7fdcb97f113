internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The response fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-11), which report to
/// callers the state of their limits.
///
/// They contain only limits that count by sender or user alone; the state of a limit by recipient, group or address
/// would disclose what others do. Shadow limits are omitted too. The constant parts are precomputed.
struct RateLimitFields: Sendable {
    /// The rules that are disclosed to callers.
    let rules: [LimitRule]
    /// The policies that count a send, and those that count another call.
    private let ofSends: Response.Field
    private let ofOthers: Response.Field
    /// The number of rules that count calls other than sends.
    private let otherCount: Int

    init(_ all: [LimitRule]) {
        let rules = all.filter { $0.policyItem != nil }
        self.rules = rules
        ofSends = Self.policy(rules)
        let others = rules.filter { !$0.countsSendsOnly }
        ofOthers = Self.policy(others)
        otherCount = others.count
    }

    /// Returns the item of a limit in `RateLimit-Policy`: its name, `q` calls in each `w` seconds. Returns nil if the
    /// limit is not disclosed, or if the name is not a plain quoted string (RFC 9651, section 3.3.3).
    static func policyItem(of limit: Limit) -> String? {
        let isPlain = limit.name.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
        guard limit.isOfCallerAlone, isPlain, !limit.name.isEmpty else { return nil }
        return "\"\(limit.name)\";q=\(limit.count);w=\(max(1, limit.period.secondsRoundedUp))"
    }

    private static func policy(_ rules: [LimitRule]) -> Response.Field {
        Response.Field("RateLimit-Policy", rules.compactMap(\.policyItem).joined(separator: ", "))
    }

    /// Returns the field with the `count` policies that apply to a call. For a caller who is exempt from some limits it
    /// is built on demand.
    fileprivate func policy(_ subject: LimitSubject, count: Int) -> Response.Field {
        if count == (subject.isSend ? rules.count : otherCount) { return subject.isSend ? ofSends : ofOthers }
        return Self.policy(rules.filter { $0.counts(subject) })
    }
}

extension Limiter {
    /// Returns the fields with the current state of the limits that count such a call: `r` calls are left now, and all
    /// are available again after `t` seconds. Returns no fields if no limit is disclosed. Charges nothing.
    func fields(for caller: Identity, isSend: Bool) -> [Response.Field] {
        if fields.rules.isEmpty { return [] }
        var subject = LimitSubject()
        (subject.user, subject.groups, subject.isSend) = (caller.user, caller.groups, isSend)
        let digests = SubjectDigests(subject, store.digests)
        let now = now
        var count = 0
        let text = String(expecting: 48 * fields.rules.count) { text in
            count = 0
            for rule in fields.rules where rule.counts(subject) {
                // Limits of the caller alone have exactly one key.
                let key = rule.key(subject, digests)
                let theoreticalArrival = store.table.withLock { $0.theoreticalArrival(of: key) }
                if count > 0 { text.append(", ") }
                text.append(text: rule.statusPrefix)
                text.append(
                    decimal: min(
                        rule.limit.count, rule.rate.remaining(theoreticalArrival: theoreticalArrival, now: now)))
                text.append(";t=")
                text.append(decimal: rule.rate.debt(theoreticalArrival: theoreticalArrival, now: now).secondsRoundedUp)
                count += 1
            }
        }
        return count == 0 ? [] : [fields.policy(subject, count: count), Response.Field("RateLimit", text)]
    }
}
