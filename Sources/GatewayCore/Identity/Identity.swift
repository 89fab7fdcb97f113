internal import GatewaySupport

/// The identity of a caller, as an authenticator established it.
public struct Identity: Sendable, Hashable {
    // One reference, so that passing an identity between phases does not copy its members.
    private final class Storage: Sendable {
        let user: UserName
        let groups: Set<GroupName>
        let authenticator: PluginName
        let token: TokenReference?

        init(_ user: UserName, _ groups: Set<GroupName>, _ authenticator: PluginName, _ token: TokenReference?) {
            self.user = user
            self.groups = groups
            self.authenticator = authenticator
            self.token = token
        }
    }

    private let storage: Storage

    /// The canonical user name.
    public var user: UserName { storage.user }
    /// The groups of the user, for policy and limits.
    public var groups: Set<GroupName> { storage.groups }
    /// The authenticator that established the identity.
    public var authenticator: PluginName { storage.authenticator }
    /// The reference of the presented token; nil after a login by password.
    public var token: TokenReference? { storage.token }

    /// Creates an identity. Authenticators do so for a verified credential. The gateway does so where no credential is
    /// presented: for a sweep, for a dry run, and to compare an account with the scope of its authenticator.
    public init(
        user: UserName, groups: Set<GroupName> = [], authenticator: PluginName, token: TokenReference? = nil
    ) {
        storage = Storage(user, groups, authenticator, token)
    }

    /// Returns the identity with only those groups that are also in the given set.
    public func limited(to groups: Set<GroupName>) -> Identity {
        if self.groups.isSubset(of: groups) { return self }
        return Identity(
            user: user, groups: self.groups.intersection(groups), authenticator: authenticator, token: token)
    }

    /// Returns whether all members are equal.
    public static func == (left: Identity, right: Identity) -> Bool {
        left.storage === right.storage
            || (left.user == right.user && left.groups == right.groups && left.authenticator == right.authenticator
                && left.token == right.token)
    }

    /// Hashes the user name, which distinguishes most identities.
    public func hash(into hasher: inout Hasher) { hasher.combine(user) }
}

/// The name of a group of users: 1–64 bytes of `A–Z a–z 0–9 _ . -`, compared with case, as in account databases.
public struct GroupName: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Creates a name, or returns nil if the text does not match the grammar.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy(Self.isGroupByte) else { return nil }
        self.text = text
    }

    /// The name.
    public var description: String { text }

    private static func isGroupByte(_ byte: UInt8) -> Bool {
        UserName.isNameByte(byte.asciiLowercased) && byte != UInt8(ascii: "@")
    }
}

/// The name of a plug-in in configuration, journal and metrics, such as `static-users`.
public struct PluginName: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name.
    public let text: String

    /// Creates the name that a plug-in declares in its source.
    public init(stringLiteral text: String) { self.text = text }

    /// Creates a name from stored text.
    public init(_ text: String) { self.text = text }

    /// The name.
    public var description: String { text }
}

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
