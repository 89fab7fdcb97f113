internal import GatewayCore

/// The names behind a key of a limit.
struct LimitNames: Sendable, Hashable {
    var user: UserName?
    var group: GroupName?
    var recipient: UserName?
    var address: Peer.Address?
    var service: PushService?

    /// Copies the names that the limit counts by from the subject.
    init(_ subject: LimitSubject, _ limit: Limit, group: GroupName?) {
        if limit.per.contains(.sender) || limit.per.contains(.user) { user = subject.user }
        if limit.per.contains(.group) { self.group = group }
        if limit.per.contains(.recipient) { recipient = subject.recipient }
        if limit.per.contains(.address) { address = subject.address }
        if limit.per.contains(.pns) { service = subject.service }
    }
}

/// The names behind the keys that were exhausted most recently, for operators. The limit table itself holds only
/// digests. Bounded: the oldest keys are discarded, and a key that is exhausted again is stored again.
struct ThrottledKeys: Sendable {
    /// The maximum number of keys.
    static let capacity = 1024

    private var current: [LimitKey: LimitNames] = [:]
    private var previous: [LimitKey: LimitNames] = [:]

    /// Stores a key with its names.
    mutating func note(_ key: LimitKey, _ names: LimitNames) {
        if current.count >= Self.capacity / 2, current[key] == nil {
            previous = current
            current = [:]
        }
        current[key] = names
    }

    /// Returns whether the key is in the current generation and need not be stored again.
    func contains(_ key: LimitKey) -> Bool { current[key] != nil }

    /// All stored keys.
    var all: [LimitKey: LimitNames] { previous.merging(current) { _, new in new } }
}
