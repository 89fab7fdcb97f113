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

    private struct Login {
        var lastSuccess: Int64
        var theoreticalArrival: Int64?
    }

    /// The time for which a successful login makes a pair known, in nanoseconds: 30 days.
    static let lifetime: Int64 = 30 * 86_400 * 1_000_000_000
    /// The maximum number of addresses of one user.
    static let maximumPerUser = 256

    let rate: GCRA
    private var logins: BoundedMap<Pair, Login>

    init(rate: GCRA, capacity: Int) {
        self.rate = rate
        logins = BoundedMap(capacity: capacity)
    }

    /// The number of pairs. For tests of the bound.
    var count: Int { logins.count }

    /// Returns whether the user has logged in from the address within `lifetime`.
    func contains(_ pair: Pair, now: Int64) -> Bool {
        logins[pair].map { $0.lastSuccess + Self.lifetime > now } ?? false
    }

    /// Returns the time until one more password of the pair is verified, in nanoseconds; 0 for now.
    func wait(for pair: Pair, now: Int64) -> Int64 {
        rate.wait(theoreticalArrival: logins[pair]?.theoreticalArrival, now: now)
    }

    /// Charges a password of the pair as wrong.
    mutating func charge(_ pair: Pair, now: Int64) {
        logins.update(pair) { [rate] in
            $0.theoreticalArrival = rate.charged(theoreticalArrival: $0.theoreticalArrival, now: now)
        }
    }

    /// Refunds one charge of the pair.
    mutating func refund(_ pair: Pair) {
        logins.update(pair) { [rate] in $0.theoreticalArrival = $0.theoreticalArrival.map { $0 - rate.interval } }
    }

    /// Records a successful login. Earlier charges stay, because the owner of one password may guess others.
    mutating func recordSuccess(of pair: Pair, now: Int64) {
        guard !logins.update(pair, asNewest: true, { $0.lastSuccess = now }) else { return }
        if logins.count(of: pair.user) >= Self.maximumPerUser, let oldest = logins.oldest(of: pair.user) {
            logins.remove(oldest.key)
        }
        logins.insert(Login(lastSuccess: now), for: pair)
    }

    /// Clears the failed logins of the matching pairs, which stay known, and returns the number of cleared pairs.
    mutating func lift(where matches: (Pair) -> Bool) -> Int {
        var lifted = 0
        for login in logins.entries where matches(login.key) && login.value.theoreticalArrival != nil {
            logins.update(login.key) { $0.theoreticalArrival = nil }
            lifted += 1
        }
        return lifted
    }

    /// Removes all pairs of a user.
    mutating func removeAll(of user: UserName) { logins.removeAll(of: user) }

    /// Returns the pairs that have to wait now, with their wait in nanoseconds.
    func blocked(now: Int64) -> [(pair: Pair, wait: Int64)] {
        logins.entries.compactMap { login in
            let wait = rate.wait(theoreticalArrival: login.value.theoreticalArrival, now: now)
            return wait > 0 ? (login.key, wait) : nil
        }
    }
}
