internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// A login to the console.
struct ConsoleSession: Sendable {
    /// The name of the session in the table: a digest of the cookie's value, so that no copy of the table contains a
    /// usable cookie.
    let id: SHA256.Digest
    /// The user, with the groups that the account has.
    var user: Identity
    /// The name by which the authenticator knows the account.
    let login: LoginName
    /// The value that forms contain, which another site cannot know.
    let formToken: String
    /// The revocation epoch before the login. A later revocation of the user ends the session.
    let epoch: RevocationEpoch
    /// The login at an identity provider; nil after a login with a password.
    var provider: ProviderLogin?
    /// The sentence that the next page shows, once; nil if there is none.
    var notice: String?
    /// The time of the login.
    let began: MonotonicInstant
    /// The time of the latest request.
    var used: MonotonicInstant
    /// The time at which the user last proved who they are.
    var proved: MonotonicInstant
    /// The time at which the account's status was last determined.
    var checked: MonotonicInstant

    /// The account that the session began with.
    var account: Account { Account(user: user.user, login: login, authenticator: user.authenticator) }
}
