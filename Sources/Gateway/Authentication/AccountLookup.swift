public import GatewayCore

/// The account of a user, as far as the authenticators can determine it without a password.
public struct AccountLookup: Sendable, Hashable {
    /// An authenticator that cannot determine whether it has the account.
    public struct Undecided: Sendable, Hashable {
        /// The authenticator.
        public let authenticator: PluginName
        /// The reason.
        public let reason: Reason
    }

    /// The reason why an authenticator cannot determine whether it has an account.
    public enum Reason: Sendable, Hashable {
        /// It knows accounts only at a login.
        case loginsOnly
        /// It is unavailable at present.
        case outage(OutageReason)

        /// The name of the reason in the output of commands.
        public var word: String {
            switch self {
            case .loginsOnly: "logins-only"
            case .outage(let reason): reason.rawValue
            }
        }
    }

    /// The authenticator that has the account, whether the account is valid or not; nil if no authenticator is known to
    /// have it.
    public var owner: PluginName?
    /// The account's groups; nil if no account is known or the account may not log in.
    public var groups: Set<GroupName>?
    /// The authenticators that have no account of the user, in the order of the configuration.
    public var unknownTo: [PluginName] = []
    /// The authenticators that cannot determine whether they have the account, in the order of the configuration.
    public var undecided: [Undecided] = []

    /// The lookup in a chain without authenticators.
    public init() {}
}
