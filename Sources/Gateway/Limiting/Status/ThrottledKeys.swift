internal import GatewayCore

/// The names behind a key of a limit.
struct LimitNames: Sendable, Hashable {
    var user: UserName?
    var group: GroupName?
    var recipient: UserName?
    var address: Peer.Address?
    var service: PushService?

    /// Takes those names from the subject that the limit counts by.
    init(_ subject: LimitSubject, _ limit: Limit, group: GroupName?) {
        if limit.per.contains(.sender) || limit.per.contains(.user) { user = subject.user }
        if limit.per.contains(.group) { self.group = group }
        if limit.per.contains(.recipient) { recipient = subject.recipient }
        if limit.per.contains(.address) { address = subject.address }
        if limit.per.contains(.pns) { service = subject.service }
    }
}

/// The names behind the keys that were exhausted most recently, for operators. The limit table itself holds only
/// digests. Bounded; a key that is exhausted again is remembered again.
struct ThrottledKeys: Sendable {
    /// The maximum number of keys.
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

    /// Returns whether the key is in the current generation and need not be noted again.
    func contains(_ key: LimitKey) -> Bool { present[key] != nil }

    /// All remembered keys.
    var all: [LimitKey: LimitNames] { past.merging(present) { _, new in new } }
}
