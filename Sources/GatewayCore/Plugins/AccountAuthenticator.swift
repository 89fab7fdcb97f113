/// An authenticator that can report the status of an account without a password.
///
/// The gateway uses it for tokens and registered devices, which outlive the login. It renews a session only while the
/// account of the session is good, and checks accounts with sessions or devices every ten minutes.
public protocol AccountAuthenticator: Authenticator {
    /// Returns the current status of the account with this login name. Called on any executor, only for accounts that
    /// have logged in successfully. An ended account loses its sessions, and its devices at the backend, so temporary
    /// conditions (a lock after wrong passwords, an unreachable directory) must be reported as `unknown`.
    func status(of login: LoginName) async -> AccountStatus
}

/// The status of an account after a login.
public enum AccountStatus: Sendable, Hashable {
    /// The account is valid and belongs to these groups.
    case good(groups: Set<GroupName>)
    /// The account is locked, disabled, expired or deleted. Everything that was granted to it is revoked.
    case ended(InvalidCredentialReason)
    /// The status cannot be determined now. Nothing changes, and the gateway queries again later.
    case unknown(OutageReason)
}
