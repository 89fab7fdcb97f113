package import Gateway
internal import GatewayCore
internal import GatewaySupport

/// What a user may do in the console. Each role includes those before it.
enum ConsoleRole: Int, Sendable, Hashable, Comparable {
    /// May read.
    case viewer
    /// May read and make changes.
    case `operator`

    static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rawValue < right.rawValue }
}

/// The users with access to the console.
package struct ConsoleAccess: Sendable, Hashable {
    let viewers: [RuleSubject]
    let operators: [RuleSubject]

    /// Creates the access of a configuration.
    package init(viewers: [RuleSubject], operators: [RuleSubject]) {
        self.viewers = viewers
        self.operators = operators
    }

    /// Returns the role of a user; nil for a user without access.
    func role(of user: Identity) -> ConsoleRole? {
        if operators.contains(where: { $0.covers(user) }) { return .operator }
        return viewers.contains { $0.covers(user) } ? .viewer : nil
    }
}

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
