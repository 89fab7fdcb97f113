/// An authenticator that has a list of its accounts, so that the gateway can see which of them have ended.
public protocol AccountList: ReloadableAuthenticator, AccountAuthenticator {
    /// The accounts that may log in now. Called after every `reload()`, and once the time has come that the last answer held
    /// until; on any thread.
    func accounts(at now: WallTime) -> AccountSnapshot
}

/// The accounts that may log in at one moment.
public struct AccountSnapshot: Sendable, Hashable {
    /// Each with a mark that stays the same as long as its password does.
    public let marks: [UserName: AccountMark]
    /// The groups of each; a user without an entry is in none. Tokens lose the groups that their users lose here.
    public let groups: [UserName: Set<GroupName>]
    /// When the next of them expires; nil where none does.
    public let holdsUntil: WallTime?

    /// A snapshot from its parts.
    public init(
        marks: [UserName: AccountMark], groups: [UserName: Set<GroupName>] = [:], holdsUntil: WallTime? = nil
    ) {
        self.marks = marks
        self.groups = groups
        self.holdsUntil = holdsUntil
    }
}

/// 16 bytes that stand for a password without telling anything of it.
public struct AccountMark: Sendable, Hashable {
    /// The length in bytes.
    public static let byteCount = 16

    /// The bytes.
    public let bytes: [UInt8]

    /// The mark that a store kept, or nil where these are not 16 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The mark of a salted password hash; nil where libcrypto fails.
    public init?(ofHash hash: String) {
        guard let digest = SHA256.digest(Array(hash.utf8)) else { return nil }
        bytes = Array(digest.prefix(Self.byteCount))
    }
}

/// Why an account's tokens, remembered passwords and registrations are no longer good.
public enum AccountEnd: String, Sendable, Hashable, CaseIterable {
    /// It is no longer listed, or disabled, or its time is over.
    case ended = "account-ended"
    /// It has another password.
    case passwordChanged = "password-changed"
    /// It is in fewer groups: its tokens stay, and are worth less.
    case groupsLost = "groups-lost"
    /// Nobody can be asked about it, and its last login is too long ago.
    case loginTooOld = "login-too-old"
    /// An operator said so.
    case byOperator = "by-operator"
}
