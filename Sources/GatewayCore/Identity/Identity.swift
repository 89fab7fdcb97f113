/// Who a caller is, as an authenticator vouches for it.
public struct Identity: Sendable, Hashable {
    // Handed from phase to phase: one reference, and not all that it holds.
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

    /// The canonical name.
    public var user: UserName { storage.user }
    /// The groups that policy and limits may speak of.
    public var groups: Set<GroupName> { storage.groups }
    /// The plug-in that vouches.
    public var authenticator: PluginName { storage.authenticator }
    /// The token that was presented, where one was.
    public var token: TokenReference? { storage.token }

    /// Puts an identity together; authenticators do, and nobody else.
    public init(
        user: UserName, groups: Set<GroupName> = [], authenticator: PluginName, token: TokenReference? = nil
    ) {
        storage = Storage(user, groups, authenticator, token)
    }

    /// The same identity in those of its groups that are among these; itself where all are.
    public func limited(to groups: Set<GroupName>) -> Identity {
        if self.groups.isSubset(of: groups) { return self }
        return Identity(
            user: user, groups: self.groups.intersection(groups), authenticator: authenticator, token: token)
    }

    /// Whether all of it is the same.
    public static func == (left: Identity, right: Identity) -> Bool {
        left.storage === right.storage
            || (left.user == right.user && left.groups == right.groups && left.authenticator == right.authenticator
                && left.token == right.token)
    }

    /// By the user, which tells most apart.
    public func hash(into hasher: inout Hasher) { hasher.combine(user) }
}

/// The name of a group of users: 1–64 bytes of `A–Z a–z 0–9 _ . -`, compared with case, as account databases do.
public struct GroupName: Sendable, Hashable, CustomStringConvertible {
    /// The name.
    public let text: String

    /// The name, or nil if it is not one.
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

/// The word for a plug-in in configuration, journal and metrics, such as `static-users`.
public struct PluginName: Sendable, Hashable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The word.
    public let text: String

    /// Wraps the word that a plug-in gives itself in its source.
    public init(stringLiteral text: String) { self.text = text }

    /// Wraps a word that a store has kept.
    public init(_ text: String) { self.text = text }

    /// The word.
    public var description: String { text }
}
