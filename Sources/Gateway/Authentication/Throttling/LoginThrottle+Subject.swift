internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

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

    /// Returns the time until one more password of the subject is verified, in nanoseconds; 0 for now. Ignores entries
    /// that several keys share in a full table.
    func wait(of subject: Subject) -> Int64 {
        let now = clocks.monotonic().nanoseconds
        return tables.withLock { tables in
            switch (subject.user, subject.address) {
            case (nil, nil): return 0
            case (nil, let address?): return tables.addresses.wait(at: .own(address), now: now)
            case (let user?, nil): return tables.users.wait(at: .own(user), now: now)
            case (let user?, let address?):
                let pair = KnownDevices.Pair(user: user, address: address)
                return max(tables.pairs.wait(at: .own(pair), now: now), tables.known.wait(for: pair, now: now))
            }
        }
    }
}
