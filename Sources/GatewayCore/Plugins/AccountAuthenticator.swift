public import GatewaySupport

/// An authenticator that can report the status of an account without a password.
///
/// The gateway uses it for tokens and registered devices, which outlive the login. It renews a session only while the
/// account of the session is valid, and checks accounts with sessions or devices every ten minutes.
public protocol AccountAuthenticator: Authenticator {
    /// Returns the current status of the account with this login name. Called on any executor, only for accounts that
    /// have logged in successfully. An ended account loses its sessions, and its devices at the backend, so temporary
    /// conditions (a lock after wrong passwords, an unreachable directory) must be reported as `unknown`.
    func status(of login: LoginName) async -> AccountStatus

    /// Returns the same for a purpose. An authenticator whose queries wait for workers or connections keeps room for
    /// rechecks, and shares the rest among the users. Default: the purpose makes no difference.
    func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus
}

extension AccountAuthenticator {
    /// Returns the current status, whatever the purpose.
    public func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus {
        await status(of: login)
    }
}

/// The purpose of a query of an account's status.
public enum AccountQueryPurpose: Sendable, Hashable {
    /// A request of a user waits for it: the renewal of a session, or a page of the console.
    case request
    /// The regular recheck of all accounts, of which few queries run at once.
    case recheck
}

/// The status of an account after a login.
public enum AccountStatus: Sendable, Hashable {
    /// The account is valid and belongs to these groups.
    case valid(groups: Set<GroupName>)
    /// The account is locked, disabled, expired or deleted. Everything that was granted to it is revoked.
    case ended(InvalidCredentialReason)
    /// The status cannot be determined now. Nothing changes, and the gateway queries again later.
    case unknown(OutageReason)
}

/// An authenticator that can list its accounts, so that the gateway notices accounts that ended.
public protocol AccountList: ReloadableAuthenticator, AccountAuthenticator {
    /// Returns the accounts at this time. Called after every `reload()` and when the previous
    /// snapshot's `validUntil` has passed, on any thread.
    func accounts(at now: WallTime) -> AccountSnapshot
}

/// The accounts of a list at one moment.
public struct AccountSnapshot: Sendable, Hashable {
    /// The fingerprint of each account that may log in, which changes when the password changes.
    public let fingerprints: [UserName: AccountFingerprint]
    /// The groups of each account; a user without an entry is in none. A token loses the groups that its user loses
    /// here.
    public let groups: [UserName: Set<GroupName>]
    /// The listed accounts that may not log in, such as disabled ones. A later list does not decide about their names.
    public let closed: Set<UserName>
    /// The next time at which an account expires; nil if none does.
    public let validUntil: WallTime?
    /// Whether the list says that it has no accounts, on purpose. All of its accounts end then, however many they are.
    public let isDeclaredEmpty: Bool

    /// Creates a snapshot.
    public init(
        fingerprints: [UserName: AccountFingerprint], groups: [UserName: Set<GroupName>] = [:],
        closed: Set<UserName> = [], validUntil: WallTime? = nil, isDeclaredEmpty: Bool = false
    ) {
        self.fingerprints = fingerprints
        self.groups = groups
        self.closed = closed
        self.validUntil = validUntil
        self.isDeclaredEmpty = isDeclaredEmpty
    }
}

/// A 16-byte fingerprint of an account's password that reveals nothing about it.
public struct AccountFingerprint: Sendable, Hashable {
    /// The length in bytes.
    public static let byteCount = 16

    /// The bytes.
    public let bytes: [UInt8]

    /// Creates a fingerprint from stored bytes; nil for another length than 16.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// Creates the fingerprint of a salted password hash; nil if libcrypto fails.
    public init?(ofHash hash: String) {
        guard let digest = SHA256.digest(Array(hash.utf8)) else { return nil }
        bytes = Array(digest.prefix(Self.byteCount))
    }
}

/// The reason why an account's tokens, cached passwords and registrations are revoked or reduced.
public enum AccountEndReason: String, Sendable, Hashable, CaseIterable {
    /// The account is disabled, expired or no longer listed.
    case ended = "account-ended"
    /// The password changed.
    case passwordChanged = "password-changed"
    /// The account lost groups. Its tokens stay valid without those groups.
    case groupsLost = "groups-lost"
    /// The account's status cannot be queried, and its last login is too old.
    case loginTooOld = "login-too-old"
    /// An operator revoked the user's sessions.
    case byOperator = "by-operator"
}
