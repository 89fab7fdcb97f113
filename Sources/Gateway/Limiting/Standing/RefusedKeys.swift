internal import GatewayCore

/// Whom a key counts for, by name.
struct LimitNames: Sendable, Hashable {
    var user: UserName?
    var group: GroupName?
    var recipient: UserName?
    var address: Peer.Address?
    var service: PushService?

    /// The names of what the limit counts of the subject.
    init(_ subject: LimitSubject, _ limit: Limit, group: GroupName?) {
        if limit.per.contains(.sender) || limit.per.contains(.user) { user = subject.user }
        if limit.per.contains(.group) { self.group = group }
        if limit.per.contains(.recipient) { recipient = subject.recipient }
        if limit.per.contains(.address) { address = subject.address }
        if limit.per.contains(.pns) { service = subject.service }
    }
}

/// The names behind the keys that were found spent last, since the table has none: for operators who want to know who is
/// slowed down. Bounded; whoever is refused again is remembered again.
struct RefusedKeys: Sendable {
    /// How many keys are remembered at most.
    static let capacity = 1024

    private var present: [LimitKey: LimitNames] = [:]
    private var past: [LimitKey: LimitNames] = [:]

    /// Remembers a key.
    mutating func note(_ key: LimitKey, _ names: LimitNames) {
        if present.count >= Self.capacity / 2, present[key] == nil {
            past = present
            present = [:]
        }
        present[key] = names
    }

    /// Whether the key was noted lately, so that it need not be noted again.
    func knows(_ key: LimitKey) -> Bool { present[key] != nil }

    /// All that are remembered.
    var all: [LimitKey: LimitNames] { past.merging(present) { _, new in new } }
}
