internal import GatewaySupport

/// A bounded table of successful logins at other nodes, as digests of user and address. A full table forgets the oldest
/// login; a user has at most as many as in `KnownLogins`.
struct LearnedLogins {
    struct Pair: OwnedKey {
        let user: UInt64
        let address: UInt64

        var owner: UInt64 { user }
    }

    private let maximumPerUser: Int
    private var logins: BoundedMap<Pair, Int64>

    init(capacity: Int, maximumPerUser: Int) {
        self.maximumPerUser = maximumPerUser
        logins = BoundedMap(capacity: capacity)
    }

    var isEmpty: Bool { logins.count == 0 }

    /// Returns the time of a pair's last known login.
    func lastSuccess(of pair: Pair) -> Int64? { logins[pair] }

    /// Stores a login.
    mutating func insert(_ pair: Pair, lastSuccess: Int64) {
        if logins[pair] == nil, logins.count(of: pair.user) >= maximumPerUser, let oldest = logins.oldest(of: pair.user)
        {
            logins.remove(oldest.key)
        }
        logins.insert(lastSuccess, for: pair)
    }

    /// Removes the logins of the users, or all for nil.
    mutating func removeAll(of users: Set<UInt64>?) {
        guard let users else { return logins.removeAll() }
        for user in users { logins.removeAll(of: user) }
    }
}
