internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// A rate limit on failed logins. The failed logins of others never lock a user out at an address where the user has
/// logged in within the last 30 days.
///
/// It counts only passwords that were passed to something that could verify them and that were not accepted: no tokens, no
/// cached results, no outages in which nothing was reached. A
/// pair of user and address with a successful login within the last 30 days is *known*, and its failed logins are
/// counted for the pair only. Failed logins of any other pair are counted three times: for the address, for the pair,
/// and for the user across all addresses where the user is not known. A caller that has to wait is rejected for every
/// password, cached or not, because any other response would reveal that the password is correct. In memory and
/// bounded; shared by all event loops.
public final class LoginThrottle: Sendable {
    struct Tables {
        var addresses: ThrottleTable<Peer.Address>
        var pairs: ThrottleTable<KnownLogins.Pair>
        var users: ThrottleTable<UserName>
        var known: KnownLogins
        /// The keys of the debts that were taken last.
        var inFlight: [DebtKey: ThrottleKey] = [:]
    }

    /// By address, for users who are not known there: 20 at once, one more every 15 s.
    static let address = GCRA(count: 1, period: 15 * second, burst: 20)
    /// By user and address: 10 at once, one more every 30 s.
    static let pair = GCRA(count: 1, period: 30 * second, burst: 10)
    /// By user, for all addresses together from which the user has never logged in: 100 an hour.
    static let user = GCRA(count: 100, period: 3600 * second, burst: 100)
    private static let second: Int64 = 1_000_000_000

    let tables: Mutex<Tables>
    let clocks: Clocks
    /// The state that the throttle shares with other nodes; nil without a shared store.
    let sharing: DebtSharing?
    /// The keys as other nodes know them; nil without a shared store.
    let keys: ThrottleDebtKeys?

    /// Creates an empty throttle.
    ///
    /// - Parameters:
    ///   - capacity: The capacity of each table.
    ///   - sharing: What the throttle shares with other nodes; nil without a shared store.
    public init(clocks: Clocks, capacity: Int = 65_536, sharing: DebtSharing? = nil) {
        self.clocks = clocks
        self.sharing = sharing
        keys = (sharing?.digests).map(ThrottleDebtKeys.init)
        let isShared = sharing != nil
        tables = Mutex(
            Tables(
                addresses: ThrottleTable(rate: Self.address, capacity: capacity, isShared: isShared),
                pairs: ThrottleTable(rate: Self.pair, capacity: capacity, isShared: isShared),
                users: ThrottleTable(rate: Self.user, capacity: capacity, isShared: isShared),
                known: KnownLogins(rate: Self.pair, capacity: capacity, digests: sharing?.digests)))
    }

    /// The charge of a login whose result is not known yet.
    struct Charge: Sendable {
        fileprivate enum Buckets: Sendable {
            case known(KnownLogins.Pair)
            case unknownPair(
                address: ThrottleTable<Peer.Address>.Bucket, pair: ThrottleTable<KnownLogins.Pair>.Bucket?,
                user: ThrottleTable<UserName>.Bucket?)
        }

        /// The times at which the parts of the charge have expired, by table.
        fileprivate struct Expiries: Sendable {
            var known: Int64 = 0
            var address: Int64 = 0
            var pair: Int64 = 0
            var user: Int64 = 0
        }

        fileprivate let buckets: Buckets
        fileprivate let expiries: Expiries
        fileprivate let user: UserName?
        /// The address that was charged, a /64 for IPv6.
        let address: Peer.Address

        /// Whether the pair of user and address is known.
        var isOfKnownPair: Bool {
            switch buckets {
            case .known: true
            case .unknownPair: false
            }
        }
    }

    /// Charges a password as wrong before it is passed to an authenticator, so that concurrent attempts are counted
    /// like sequential ones.
    ///
    /// - Parameter user: Nil for a name without canonical form, which has no pair.
    func admit(_ user: UserName?, from peer: Peer) throws(Rejection) -> Charge {
        let now = clocks.monotonic().nanoseconds
        let admitted: Result<Charge, Rejection> = tables.withLock { tables in
            Self.admit(user, peer.limitKey, &tables, now)
        }
        return try admitted.get()
    }

    /// Refunds the charge of a correct password and marks the user as known at this address.
    func recordSuccess(of charge: Charge) {
        let now = clocks.monotonic().nanoseconds
        let pair = charge.user.map { KnownLogins.Pair(user: $0, address: charge.address) }
        let isNew = tables.withLock { tables in
            Self.refund(charge, &tables, now)
            return pair.map { tables.known.recordSuccess(of: $0, now: now) } ?? false
        }
        if isNew, let pair { announce(pair) }
    }

    /// Marks the user as known at this address after a correct password that was verified for another call.
    func recordSuccess(of user: UserName, from peer: Peer) {
        let pair = KnownLogins.Pair(user: user, address: peer.limitKey)
        let now = clocks.monotonic().nanoseconds
        if tables.withLock({ $0.known.recordSuccess(of: pair, now: now) }) { announce(pair) }
    }

    /// Refunds the charge of a password that could not be verified.
    func refund(_ charge: Charge) {
        let now = clocks.monotonic().nanoseconds
        tables.withLock { Self.refund(charge, &$0, now) }
    }

    /// Rejects a password that `admit` would reject, without a charge. Called before a cached or pending result is
    /// used.
    ///
    /// - Returns: Whether the pair of user and address is known.
    func isKnownPairUnlessBlocked(_ user: UserName?, from peer: Peer) throws(Rejection) -> Bool {
        let now = clocks.monotonic().nanoseconds
        let buckets: Result<Charge.Buckets, Rejection> = tables.withLock { tables in
            Self.find(user, peer.limitKey, &tables, now)
        }
        switch try buckets.get() {
        case .known: return true
        case .unknownPair: return false
        }
    }

    private static func admit(
        _ user: UserName?, _ address: Peer.Address, _ tables: inout Tables, _ now: Int64
    ) -> Result<Charge, Rejection> {
        find(user, address, &tables, now).map { buckets in
            var expiries = Charge.Expiries()
            switch buckets {
            case .known(let pair):
                expiries.known = tables.known.charge(pair, now: now)
            case .unknownPair(let address, let pair, let user):
                expiries.address = tables.addresses.charge(address, now: now)
                if let pair { expiries.pair = tables.pairs.charge(pair, now: now) }
                if let user { expiries.user = tables.users.charge(user, now: now) }
            }
            return Charge(buckets: buckets, expiries: expiries, user: user, address: address)
        }
    }

    /// Returns the entries that a password is charged to, or the rejection if one of them has to wait.
    private static func find(
        _ user: UserName?, _ address: Peer.Address, _ tables: inout Tables, _ now: Int64
    ) -> Result<Charge.Buckets, Rejection> {
        let pair = user.map { KnownLogins.Pair(user: $0, address: address) }
        if let pair, tables.known.isKnown(pair, now: now) {
            let wait = tables.known.wait(for: pair, now: now)
            return wait > 0 ? .failure(rejection("login-pair", wait)) : .success(.known(pair))
        }
        let block = AddressPrefix(address)
        let atAddress = tables.addresses.bucket(for: address, in: block, now: now)
        let atPair = pair.map { tables.pairs.bucket(for: $0, in: block, now: now) }
        let atUser = user.map { tables.users.bucket(for: $0, in: block, now: now) }
        let waits = [
            ("login-address", tables.addresses.wait(at: atAddress, now: now)),
            ("login-pair", atPair.map { tables.pairs.wait(at: $0, now: now) } ?? 0),
            ("login-user", atUser.map { tables.users.wait(at: $0, now: now) } ?? 0),
        ]
        if let longest = waits.max(by: { $0.1 < $1.1 }), longest.1 > 0 {
            return .failure(rejection(longest.0, longest.1))
        }
        return .success(.unknownPair(address: atAddress, pair: atPair, user: atUser))
    }

    private static func refund(_ charge: Charge, _ tables: inout Tables, _ now: Int64) {
        switch charge.buckets {
        case .known(let pair):
            tables.known.refund(pair, expiring: charge.expiries.known, now: now)
        case .unknownPair(let address, let pair, let user):
            tables.addresses.refund(address, expiring: charge.expiries.address, now: now)
            if let pair { tables.pairs.refund(pair, expiring: charge.expiries.pair, now: now) }
            if let user { tables.users.refund(user, expiring: charge.expiries.user, now: now) }
        }
    }

    /// The names of the limits, as used in rejections.
    static let names = ["login-address", "login-pair", "login-user"]

    private static func rejection(_ name: String, _ wait: Int64) -> Rejection {
        let seconds = Int((wait + second - 1) / second)
        return Rejection(.rateLimited, "throttle \(name)", extra: .limit(name: name, retryAfterSeconds: seconds))
    }
}
