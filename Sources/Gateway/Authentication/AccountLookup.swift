public import GatewayCore

/// The account of a user as far as the authenticators can tell without a password.
public struct AccountLookup: Sendable, Hashable {
    /// An authenticator that cannot tell whether it has the account.
    public struct Undecided: Sendable, Hashable {
        /// The authenticator.
        public let authenticator: PluginName
        /// Why it cannot tell.
        public let reason: Reason
    }

    /// Why an authenticator cannot tell whether it has an account.
    public enum Reason: Sendable, Hashable {
        /// It never can without a login.
        case loginsOnly
        /// It can, but not at present.
        case outage(OutageReason)

        /// The word for it in the output of commands.
        public var word: String {
            switch self {
            case .loginsOnly: "logins-only"
            case .outage(let reason): reason.rawValue
            }
        }
    }

    /// The authenticator that has the account, whether the account is good or not; nil where none is known to have it.
    public var owner: PluginName?
    /// The account's groups; nil where no account is known, and where the account may not log in.
    public var groups: Set<GroupName>?
    /// The authenticators that have no account of the user, in the order of the configuration.
    public var unknownTo: [PluginName] = []
    /// The authenticators that cannot tell, in the order of the configuration.
    public var undecided: [Undecided] = []

    /// The lookup in a chain without authenticators.
    public init() {}
}
