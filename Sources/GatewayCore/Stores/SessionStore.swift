/// Which sessions there are, and what has been revoked: in memory for those who ask, durable for those who change it.
///
/// What is taken back is of no more worth from the moment that the call begins. A call that throws has changed nothing: what it was to
/// take back is good again.
public protocol SessionStore: RevocationList {
    /// What to remember at the beginning of a call that ends with `start` or asks `wasRevoked`. An atomic load.
    var epoch: RevocationEpoch { get }

    /// Whether the user has been revoked since: then what the call was let in by no longer holds.
    func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool

    /// The session, if it has not ended.
    func session(_ id: SessionID) -> Session?

    /// The user's sessions, the one renewed last first.
    func sessions(of user: UserName) -> [Session]

    /// Adds a session, durably. A user has 20 at most: the one renewed longest ago goes for it.
    ///
    /// - Parameter since: the epoch from before the password was judged.
    /// - Returns: whether there is a session now; not so where the user was revoked meanwhile.
    func start(_ session: Session, since: RevocationEpoch) async throws(LedgerUnavailable) -> Bool

    /// Notes that a session was renewed, durably; false where it has ended meanwhile.
    func renew(_ id: SessionID) async throws(LedgerUnavailable) -> Bool

    /// Ends a session, durably; false where the user has none of the id.
    func end(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool

    /// Notes the groups that the account of a session has just been found in. In memory; tokens of the account are worth no more.
    func note(_ groups: Set<GroupName>, of account: Account)

    /// Takes one token back, durably, until it has ended by itself.
    func revoke(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable)
}
