package import GatewayCore

/// The source of a query, for fair sharing of the workers.
package enum LoginOrigin: Hashable, Sendable {
    /// A client address, truncated as rate limits count it: a login from there.
    case address(Peer.Address)
    /// A user: a request that waits for the status of the user's account.
    case user(UserName)
    /// The gateway itself, which rechecks accounts.
    case recheck

    /// Returns the origin of a query of a user's account.
    package init(_ purpose: AccountQueryPurpose, of user: UserName) {
        switch purpose {
        case .request: self = .user(user)
        case .recheck: self = .recheck
        }
    }
}
