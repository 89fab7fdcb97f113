internal import GatewayCore
internal import GatewaySupport

/// A bounded table of pairs of user and address with a successful login. Later failed logins of a pair are charged to
/// its entry. A full table evicts the pair whose last success is the oldest.
///
/// A user with `maximumPerUser` addresses loses the oldest of them. An account therefore never evicts the addresses of
/// other users, who would then share a limit with unknown addresses.
struct KnownLogins {
    struct Pair: OwnedKey {
        let user: UserName
        let address: Peer.Address

        var owner: UserName { user }
    }

    struct Login {
        var lastSuccess: Int64
        var theoreticalArrival: Int64?
        /// The last time at which the other nodes were told of the pair.
        var lastAnnouncement: Int64
    }

    /// The time for which a successful login makes a pair known, in nanoseconds: 30 days.
    static let lifetime: Int64 = 30 * 86_400 * 1_000_000_000
    /// The time after which other nodes are told of a pair again, in nanoseconds: a day.
    private static let announcementPeriod: Int64 = 86_400 * 1_000_000_000
    /// The maximum number of addresses of one user.
    static let maximumPerUser = 256

    let rate: GCRA
    /// The factor by which failures count: more than 1 while this node is cut off from others.
    var weight = 1
    var logins: BoundedMap<Pair, Login>
    /// The successful logins at other nodes.
    var learned: LearnedLogins
    /// The digests of `learned`; nil without a shared store.
    let digests: LimitDigests?
    var pending: PendingFailures<Pair>?

    /// Creates an empty table.
    ///
    /// - Parameter digests: The digests that other nodes know; nil without a shared store.
    init(rate: GCRA, capacity: Int, digests: LimitDigests? = nil) {
        self.rate = digests == nil ? rate : rate.shared
        self.digests = digests
        logins = BoundedMap(capacity: capacity)
        learned = LearnedLogins(capacity: capacity, maximumPerUser: Self.maximumPerUser)
        pending = digests == nil ? nil : PendingFailures()
    }

    /// The number of pairs. For tests of the bound.
    var count: Int { logins.count }

    /// Returns whether the user has logged in from the address within `lifetime`.
    func contains(_ pair: Pair, now: Int64) -> Bool {
        logins[pair].map { $0.lastSuccess + Self.lifetime > now } ?? false
    }

    /// Returns whether the user has logged in from the address within `lifetime`, at this node or another. The pair then has
    /// an entry.
    mutating func isKnown(_ pair: Pair, now: Int64) -> Bool {
        if contains(pair, now: now) { return true }
        guard let digests, !learned.isEmpty else { return false }
        let learnedPair = LearnedLogins.Pair(user: digests.user(pair.user), address: digests.address(pair.address))
        guard let lastSuccess = learned.lastSuccess(of: learnedPair), lastSuccess + Self.lifetime > now else {
            return false
        }
        insert(pair, lastSuccess: lastSuccess, lastAnnouncement: lastSuccess)
        return true
    }

    /// Returns the time until one more password of the pair is verified, in nanoseconds; 0 for now.
    func wait(for pair: Pair, now: Int64) -> Int64 {
        rate.wait(theoreticalArrival: logins[pair]?.theoreticalArrival, now: now)
    }

    /// Charges a password of the pair as wrong, and returns the time at which the charge has expired.
    @discardableResult mutating func charge(_ pair: Pair, now: Int64) -> Int64 {
        let theoreticalArrival = rate.charged(
            theoreticalArrival: logins[pair]?.theoreticalArrival, now: now, cost: weight)
        logins.update(pair) { $0.theoreticalArrival = theoreticalArrival }
        pending?.add(rate.interval, for: pair)
        return theoreticalArrival
    }

    /// Refunds one charge of the pair that has not expired.
    mutating func refund(_ pair: Pair, expiring expiry: Int64, now: Int64) {
        guard expiry > now else { return }
        logins.update(pair) { [rate, weight] in
            $0.theoreticalArrival = $0.theoreticalArrival.map { $0 - rate.time(of: weight) }
        }
        pending?.add(-rate.interval, for: pair)
    }

    /// Records a successful login. Earlier charges stay, because the owner of one password may guess others.
    ///
    /// - Returns: Whether other nodes have to be told.
    @discardableResult mutating func recordSuccess(of pair: Pair, now: Int64) -> Bool {
        var isDue = false
        let isKnown = logins.update(pair, asNewest: true) { login in
            isDue = now - login.lastAnnouncement >= Self.announcementPeriod
            login.lastSuccess = now
            if isDue { login.lastAnnouncement = now }
        }
        if !isKnown { insert(pair, lastSuccess: now, lastAnnouncement: now) }
        return !isKnown || isDue
    }

    private mutating func insert(_ pair: Pair, lastSuccess: Int64, lastAnnouncement: Int64) {
        if logins[pair] == nil, logins.count(of: pair.user) >= Self.maximumPerUser,
            let oldest = logins.oldest(of: pair.user)
        {
            logins.remove(oldest.key)
        }
        logins.insert(Login(lastSuccess: lastSuccess, lastAnnouncement: lastAnnouncement), for: pair)
    }

    /// Clears the failed logins of the matching pairs, which stay known, and returns the number of cleared pairs.
    mutating func lift(where matches: (Pair) -> Bool) -> Int {
        var lifted = 0
        pending?.remove(where: matches)
        for login in logins.entries where matches(login.key) && login.value.theoreticalArrival != nil {
            logins.update(login.key) { $0.theoreticalArrival = nil }
            lifted += 1
        }
        return lifted
    }

    /// Removes all pairs of a user.
    mutating func removeAll(of user: UserName) {
        logins.removeAll(of: user)
        pending?.remove { $0.user == user }
        if let digests { learned.removeAll(of: [digests.user(user)]) }
    }

    /// Returns the pairs that have to wait now, with their wait in nanoseconds.
    func blocked(now: Int64) -> [(pair: Pair, wait: Int64)] {
        logins.entries.compactMap { login in
            let wait = rate.wait(theoreticalArrival: login.value.theoreticalArrival, now: now)
            return wait > 0 ? (login.key, wait) : nil
        }
    }
}
