public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// A temporary rejection of passwords for a user, an address, or a pair of both.
public struct LoginBan: Sendable, Hashable {
    /// The user; nil for all users at the address.
    public let user: UserName?
    /// The address, a /64 for IPv6; nil for all addresses where the user is not known.
    public let address: Peer.Address?
    /// The time until one more password may be verified, in seconds; at least 1.
    public let seconds: Int
}

extension LoginThrottle {
    /// Returns the current bans, the longest first. When a table is full, new keys share entries; bans of shared
    /// entries are not included. Scans whole tables; for operator commands, not for the request pipeline.
    public func currentBans() -> [LoginBan] {
        let now = clocks.monotonic().nanoseconds
        var bans: [LoginBan] = []
        func add(_ user: UserName?, _ address: Peer.Address?, _ wait: Int64) {
            bans.append(LoginBan(user: user, address: address, seconds: Int((wait + 999_999_999) / 1_000_000_000)))
        }
        tables.withLock { tables in
            for case (.own(let address), let wait) in tables.addresses.blocked(now: now) { add(nil, address, wait) }
            for case (.own(let pair), let wait) in tables.pairs.blocked(now: now) { add(pair.user, pair.address, wait) }
            for case (.own(let user), let wait) in tables.users.blocked(now: now) { add(user, nil, wait) }
            for (pair, wait) in tables.known.blocked(now: now) { add(pair.user, pair.address, wait) }
        }
        return bans.sorted { $0.seconds > $1.seconds }
    }

    /// Clears the failed logins of a user, at every address; within a second on other nodes too. Returns the number of
    /// cleared entries on this node.
    @discardableResult public func lift(user: UserName) -> Int {
        defer { announceLift { $0.pattern(user: user) } }
        return tables.withLock { tables in
            tables.users.lift { $0 == user } + tables.pairs.lift { $0.user == user }
                + tables.known.lift { $0.user == user }
        }
    }

    /// Removes the user's known addresses, within a second on other nodes too, so that a later user with the same name has no known address.
    public func removeKnownAddresses(of user: UserName) {
        tables.withLock { $0.known.removeAll(of: user) }
        guard let sharing, let keys else { return }
        var pattern = DebtPattern()
        pattern.caller = keys.digests.user(user)
        sharing.announce(.knownLoginsRemoved, pattern)
    }

    private func announceLift(_ pattern: (ThrottleDebtKeys) -> DebtPattern) {
        if let sharing, let keys { sharing.announce(.debtsRemoved, pattern(keys)) }
    }

    /// Clears the failed logins from an address, for IPv6 from its /64; within a second on other nodes too. Returns the
    /// number of cleared entries on this node.
    @discardableResult public func lift(address peer: Peer) -> Int {
        let address = peer.limitKey
        defer { announceLift { $0.pattern(address: address) } }
        return tables.withLock { tables in
            tables.addresses.lift { $0 == address } + tables.pairs.lift { $0.address == address }
                + tables.known.lift { $0.address == address }
        }
    }

    /// Clears all failed logins, including those in shared entries (see `currentBans()`); within a second on other nodes
    /// too. Returns the number of cleared entries on this node.
    @discardableResult public func liftAll() -> Int {
        defer { announceLift { $0.pattern() } }
        return tables.withLock { tables in
            tables.addresses.liftAll() + tables.pairs.liftAll() + tables.users.liftAll()
                + tables.known.lift { _ in true }
        }
    }
}

extension LoginThrottle {
    /// A user, address or pair of both that a ban concerns, with the name of the limit.
    struct Subject: Hashable, Sendable {
        let limit: String
        let user: UserName?
        let address: Peer.Address?

        /// - Parameter limit: One of ``LoginThrottle/names``. The result is nil for another name, or if the limit
        ///   counts by user and there is none.
        init?(_ limit: String, user: UserName?, address: Peer.Address) {
            switch limit {
            case LoginThrottle.names[0]: (self.user, self.address) = (nil, address)
            case LoginThrottle.names[1] where user != nil: (self.user, self.address) = (user, address)
            case LoginThrottle.names[2] where user != nil: (self.user, self.address) = (user, nil)
            default: return nil
            }
            self.limit = limit
        }
    }

    /// Returns the time until one more password of the subject may be verified, in nanoseconds; 0 if one may be
    /// verified immediately. Ignores shared entries (see `currentBans()`).
    func wait(of subject: Subject) -> Int64 {
        let now = clocks.monotonic().nanoseconds
        return tables.withLock { tables in
            switch (subject.user, subject.address) {
            case (nil, nil): return 0
            case (nil, let address?): return tables.addresses.wait(at: .own(address), now: now)
            case (let user?, nil): return tables.users.wait(at: .own(user), now: now)
            case (let user?, let address?):
                let pair = KnownLogins.Pair(user: user, address: address)
                return max(tables.pairs.wait(at: .own(pair), now: now), tables.known.wait(for: pair, now: now))
            }
        }
    }
}
