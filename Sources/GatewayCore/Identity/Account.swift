/// The account that a user logged in with. Its authenticator reports its status later without a password.
public struct Account: Sendable, Hashable {
    /// The user that the account authenticates.
    public let user: UserName
    /// The login name, by which the authenticator knows the account.
    public let login: LoginName
    /// The authenticator that accepted the password.
    public let authenticator: PluginName

    /// Creates an account.
    public init(user: UserName, login: LoginName, authenticator: PluginName) {
        self.user = user
        self.login = login
        self.authenticator = authenticator
    }
}
