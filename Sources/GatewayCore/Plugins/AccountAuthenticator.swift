/// An authenticator that can say without a password whether an account may go on.
///
/// For what outlives the login that it was given for, tokens and registered devices: a session is renewed only while the account
/// that it began with is good, and accounts with sessions or devices are looked at every ten minutes.
public protocol AccountAuthenticator: Authenticator {
    /// How the account stands now, under the name that it logged in with. Called on any executor; never for a caller who has
    /// presented no good credential. An account that has ended loses its sessions, and its devices at the backend: what may
    /// pass, as a lock after wrong passwords or a directory that is away, is `unknown`.
    func standing(of login: LoginName) async -> AccountStanding
}

/// What becomes of an account after its login.
public enum AccountStanding: Sendable, Hashable {
    /// It may go on, in these groups.
    case good(groups: Set<GroupName>)
    /// It is locked, disabled, expired or gone: what was granted by it ends.
    case ended(RejectionReason)
    /// It cannot be told now: ask again later, and change nothing.
    case unknown(OutageReason)

    /// Whether the account may go on.
    public var isGood: Bool { if case .good = self { true } else { false } }
}
