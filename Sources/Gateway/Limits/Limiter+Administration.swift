public import GatewayCore
internal import Synchronization

// Operator functions of the limiter: queries of the state, and resets.

extension Limiter {
    /// The names of the limits, in the order of the configuration.
    public var names: [String] { rules.map(\.limit.name) }

    /// Returns the state of the exhausted keys among the 1,024 that were found exhausted last, the longest wait first.
    /// Charges nothing.
    public func exhausted() -> [LimitStatus] {
        let throttled = store.throttledKeys.withLock(\.all)
        let indices = Dictionary(rules.enumerated().map { ($1.number, $0) }) { first, _ in first }
        let charges = throttled.compactMap { key, names -> (LimitCharge, LimitNames)? in
            guard let index = indices[key.limit] else { return nil }
            return (LimitCharge(key: key, rate: rules[index].rate, rule: index), names)
        }
        return statuses(charges).filter { $0.seconds > 0 }.sorted { ($1.seconds, $0.limit) < ($0.seconds, $1.limit) }
    }

    /// Returns the state of each limit whose key is fully determined by the selection. Charges nothing.
    public func statuses(of selector: LimitSelector) -> [LimitStatus] {
        var subject = LimitSubject()
        (subject.user, subject.recipient, subject.service) = (selector.user, selector.recipient, selector.service)
        (subject.address, subject.groups) = (selector.address?.limited, selector.group.map { [$0] } ?? [])
        subject.isSend = true
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        for (index, rule) in rules.enumerated() where selector.limit == nil || rule.limit.name == selector.limit {
            rule.append(subject, digests, to: &charges, as: index)
        }
        return statuses(charges.map { ($0, LimitNames(subject, rules[$0.rule].limit, group: $0.group)) })
    }

    /// Clears the debt of the selected keys, with immediate effect on this node, and within a second on others.
    ///
    /// - Returns: The number of keys with a debt on this node. The shared entries of new keys in a full table belong to no
    ///   single key; they are cleared only if whole limits are selected.
    public func reset(_ selector: LimitSelector) -> Int {
        let selected = rules.map(\.limit).filter { selector.limit == nil || $0.name == selector.limit }
        guard !selected.isEmpty else { return 0 }
        var pattern = DebtPattern(limits: Set(selected.map(store.sharedLimit)))
        pattern.caller = selector.user.map(store.digests.user)
        pattern.recipient = selector.recipient.map(store.digests.user)
        pattern.address = (selector.address?.limited).map(store.digests.address)
        pattern.group = selector.group.map(store.digests.group)
        pattern.service = selector.service.map(LimitKey.number)
        let owing = store.remove(pattern, now: now)
        store.sharing?.announce(.debtsRemoved, pattern)
        return owing
    }
}

extension Peer.Address {
    /// The address as limits count it (see `Peer.limitKey`).
    fileprivate var limited: Peer.Address { Peer(address: self, text: "").limitKey }
}

/// An operator's selection of limit keys: the keys that match all given properties.
public struct LimitSelector: Sendable, Hashable {
    /// Matches the limit with this name.
    public var limit: String?
    /// Matches keys of this user.
    public var user: UserName?
    /// Matches keys of this group.
    public var group: GroupName?
    /// Matches keys of this recipient.
    public var recipient: UserName?
    /// Matches keys of this address, or of its /64 for IPv6.
    public var address: Peer.Address?
    /// Matches keys of this push service.
    public var service: PushService?

    /// Creates a selection of all keys.
    public init() {}

    /// Whether the selection matches all keys.
    public var isEverything: Bool { self == LimitSelector() }
}
