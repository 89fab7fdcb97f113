public import GatewayCore
internal import Synchronization

/// A user, an address, or both, whose passwords are refused for the time being.
public struct LoginBan: Sendable, Hashable {
    /// Whose; nil for everybody at the address.
    public let user: UserName?
    /// From where, a /64 for IPv6; nil for all addresses from which the user has never logged in.
    public let address: Peer.Address?
    /// How many seconds until one more password is judged; 1 or more.
    public let seconds: Int
}

extension LoginThrottle {
    /// Everybody who has to wait now, the longest first. Looks through whole tables: for operators, not for calls.
    public func list() -> [LoginBan] {
        let now = clocks.monotonic().nanoseconds
        var bans: [LoginBan] = []
        func add(_ user: UserName?, _ address: Peer.Address?, _ wait: Int64) {
            bans.append(LoginBan(user: user, address: address, seconds: Int((wait + 999_999_999) / 1_000_000_000)))
        }
        tables.withLock { tables in
            for case (.own(let address), let wait) in tables.addresses.spent(now: now) { add(nil, address, wait) }
            for case (.own(let pair), let wait) in tables.pairs.spent(now: now) { add(pair.user, pair.address, wait) }
            for case (.own(let user), let wait) in tables.users.spent(now: now) { add(user, nil, wait) }
            for (pair, wait) in tables.known.spent(now: now) { add(pair.user, pair.address, wait) }
        }
        return bans.sorted { $0.seconds > $1.seconds }
    }

    /// Forgets what wrong passwords of a user have run up, everywhere. Says how many debts that were.
    @discardableResult public func lift(user: UserName) -> Int {
        tables.withLock { tables in
            tables.users.lift { $0 == user } + tables.pairs.lift { $0.user == user }
                + tables.known.lift { $0.user == user }
        }
    }

    /// Forgets where a user has logged in from: whoever has the name from now on is a stranger everywhere.
    public func forget(_ user: UserName) {
        tables.withLock { $0.known.forget(user) }
    }

    /// Forgets what wrong passwords from an address, for IPv6 its /64, have run up. Says how many debts that were.
    @discardableResult public func lift(address peer: Peer) -> Int {
        let address = peer.limitKey
        return tables.withLock { tables in
            tables.addresses.lift { $0 == address } + tables.pairs.lift { $0.address == address }
                + tables.known.lift { $0.address == address }
        }
    }

    /// Forgets what all wrong passwords have run up, also what strangers share for want of room. Says how many debts that were.
    @discardableResult public func liftAll() -> Int {
        tables.withLock { tables in
            tables.addresses.liftAll() + tables.pairs.liftAll() + tables.users.liftAll()
                + tables.known.lift { _ in true }
        }
    }
}
