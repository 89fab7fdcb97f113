internal import GatewayCore
internal import GatewaySupport

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
/// digests. Bounded: the keys that were not exhausted for longest are discarded.
struct ThrottledKeys: Sendable {
    /// The maximum number of keys.
    static let capacity = 1024

    private var names = BoundedMap<LimitKey, LimitNames>(capacity: capacity)

    /// Returns whether the key is stored, and protects a stored key from being discarded soon.
    mutating func renew(_ key: LimitKey) -> Bool { names.refresh(key) != nil }

    /// Stores a key with its names.
    mutating func note(_ key: LimitKey, _ names: LimitNames) { self.names.insert(names, for: key) }

    /// All stored keys.
    var all: [(key: LimitKey, names: LimitNames)] { names.entries.map { ($0.key, $0.value) } }
}

extension LimitKey: OwnedKey {
    typealias Owner = SoleOwner
}
