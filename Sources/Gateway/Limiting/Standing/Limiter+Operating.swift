internal import GatewayCore
internal import Synchronization

// Operator functions of the limiter: queries of the state, and resets.

extension Limiter {
    /// The names of the limits, in the order of the configuration.
    public var names: [String] { rules.map(\.limit.name) }

    /// Returns the state of the exhausted keys among the 1,024 that were found exhausted last, the longest wait first.
    /// Charges nothing.
    public func spent() -> [LimitStanding] {
        let noted = store.refused.withLock(\.all)
        let places = Dictionary(rules.enumerated().map { ($1.number, $0) }) { first, _ in first }
        let charges = noted.compactMap { key, names -> (LimitCharge, LimitNames)? in
            guard let place = places[key.limit] else { return nil }
            return (LimitCharge(key: key, rate: rules[place].rate, rule: place), names)
        }
        return standings(charges).filter { $0.seconds > 0 }.sorted { ($1.seconds, $0.limit) < ($0.seconds, $1.limit) }
    }

    /// Returns the state of each limit whose key is fully determined by the selection. Charges nothing.
    public func standings(of pick: LimitPick) -> [LimitStanding] {
        var subject = LimitSubject()
        (subject.user, subject.recipient, subject.service) = (pick.user, pick.recipient, pick.service)
        (subject.address, subject.groups) = (pick.address?.limited, pick.group.map { [$0] } ?? [])
        subject.isSend = true
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        for (index, rule) in rules.enumerated() where pick.limit == nil || rule.limit.name == pick.limit {
            rule.append(subject, digests, to: &charges, as: index)
        }
        return standings(charges.map { ($0, LimitNames(subject, rules[$0.rule].limit, group: $0.group)) })
    }

    /// Clears the debt of the selected keys, with immediate effect.
    ///
    /// - Returns: The number of keys with a debt. The shared entries of new keys in a full table belong to no single
    ///   key; they are cleared only if whole limits are selected.
    public func reset(_ pick: LimitPick) -> Int {
        let numbers = Set(rules.filter { pick.limit == nil || $0.limit.name == pick.limit }.map(\.number))
        let user = pick.user.map(store.digests.user)
        let group = pick.group.map(store.digests.group)
        let recipient = pick.recipient.map(store.digests.user)
        let address = (pick.address?.limited).map(store.digests.address)
        let service = pick.service.map(LimitKey.number)
        let owing = store.forget(now: now) { key in
            numbers.contains(key.limit)
                && user.map { $0 == key.caller } ?? true && group.map { $0 == key.group } ?? true
                && recipient.map { $0 == key.recipient } ?? true && address.map { $0 == key.address } ?? true
                && service.map { $0 == key.service } ?? true
        }
        var parts = pick
        parts.limit = nil
        if parts.isEverything {
            store.table.withLock { table in
                for number in numbers { table.forgetShared(of: number) }
            }
        }
        return owing
    }
}

extension Peer.Address {
    /// The address as limits count it (see `Peer.limitKey`).
    fileprivate var limited: Peer.Address { Peer(address: self, text: "").limitKey }
}
