public import GatewaySupport

/// The sessions and revocations: in memory for readers, durable for writers.
///
/// A revocation takes effect in memory at the start of the call. A call that throws has changed nothing: the session or
/// token is valid again.
public protocol SessionStore: RevocationList {
    /// The current epoch. A call reads it at its beginning and passes it to `start` or `wasRevoked` later. Costs one
    /// atomic load.
    var epoch: RevocationEpoch { get }

    /// Whether the sessions and revocations are up to date. False while another gateway may have taken the place of this
    /// one in a shared store: credentials cannot be verified then. Costs two atomic loads; safe on any thread.
    var isCurrent: Bool { get }

    /// Returns whether the user was revoked after the epoch; the credential of the call is no longer valid then.
    func wasRevoked(_ user: UserName, since: RevocationEpoch) -> Bool

    /// Returns whether a reload has removed or replaced the authenticator after the epoch. A login that it verified before
    /// must not start a session or bind a device any more.
    func wasWithdrawn(_ authenticator: PluginName, since: RevocationEpoch) -> Bool

    /// Returns whether the login has ended at its identity provider after the epoch.
    func wasLoggedOut(_ login: ProviderLogin, since: RevocationEpoch) -> Bool

    /// Returns the session, if it is not closed.
    func session(_ id: SessionID) -> Session?

    /// Returns the user's sessions, the most recently renewed first.
    func sessions(of user: UserName) -> [Session]

    /// Durably adds a session, and ends those that it replaces: ``Session/replaced(among:limit:)``.
    ///
    /// - Parameters:
    ///   - since: The epoch before the password was verified.
    ///   - limit: The most sessions of a user.
    /// - Returns: The sessions that it replaced. Nil if it was not added, because the user was revoked, or the authenticator
    ///   withdrawn, after that epoch, or that it has ended already, because so many others of the user began meanwhile.
    func start(
        _ session: Session, since: RevocationEpoch, limit: Int
    ) async throws(LedgerUnavailable) -> [Session]?

    /// Durably records the renewal of a session. Returns false if the session was closed meanwhile.
    func renew(_ id: SessionID) async throws(LedgerUnavailable) -> Bool

    /// Durably closes a session. Returns false if the user has no session with this id.
    func delete(_ id: SessionID, of user: UserName) async throws(LedgerUnavailable) -> Bool

    /// Records the current groups of the account of a session, in memory. Tokens of the account grant no other groups.
    func storeGroups(_ groups: Set<GroupName>, of account: Account)

    /// Durably ends the sessions that began with the login at an identity provider, and refuses the provider's tokens up
    /// to the logout. Returns the sessions.
    func logOut(_ logout: ProviderLogout) async throws(LedgerUnavailable) -> [Session]

    /// Durably revokes one token until it expires by itself.
    func revoke(token id: String, of user: UserName, until: WallTime) async throws(LedgerUnavailable)
}

extension SessionStore {
    /// True: nobody else changes the sessions.
    public var isCurrent: Bool { true }
}
