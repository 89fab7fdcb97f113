/// An account by which a user was let in: what its authenticator is asked about later, without a password.
public struct Account: Sendable, Hashable {
    /// Whom it let in.
    public let user: UserName
    /// The name that was logged in with: what the authenticator knows the account by.
    public let login: LoginName
    /// Who vouched for the password.
    public let authenticator: PluginName

    /// An account from its parts.
    public init(user: UserName, login: LoginName, authenticator: PluginName) {
        self.user = user
        self.login = login
        self.authenticator = authenticator
    }
}
