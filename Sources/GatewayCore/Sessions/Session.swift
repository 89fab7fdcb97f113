public import GatewaySupport

/// A login session: begins with a password, or a token of an identity provider, and continues with tokens, each issued for the previous one, until it
/// expires.
public struct Session: Sendable, Hashable {
    /// The id, contained in every token of the session.
    public let id: SessionID
    /// The user of the session.
    public let user: UserName
    /// The login name, by which the authenticator knows the account.
    public let login: LoginName
    /// The authenticator that accepted the login.
    public let authenticator: PluginName
    /// The user's name for the device, if given; shown in the user's list of sessions.
    public let device: DeviceLabel?
    /// The time of the login.
    public let began: WallTime
    /// The expiry time, after which a new login is required.
    public let ends: WallTime
    /// The login at an identity provider that the session began with; nil after a login with a password.
    public let provider: ProviderLogin?
    /// The time at which the latest token was issued.
    public var renewed: WallTime

    /// Creates a session.
    public init(
        id: SessionID, user: UserName, login: LoginName, authenticator: PluginName, device: DeviceLabel?,
        began: WallTime, ends: WallTime, renewed: WallTime, provider: ProviderLogin? = nil
    ) {
        self.provider = provider
        self.id = id
        self.user = user
        self.login = login
        self.authenticator = authenticator
        self.device = device
        self.began = began
        self.ends = ends
        self.renewed = renewed
    }

    /// The account that the session began with.
    public var account: Account { Account(user: user, login: login, authenticator: authenticator) }

    /// Returns which sessions of its user end when this one begins: those that have expired, and those that were renewed
    /// longest ago if there would be more than the limit.
    ///
    /// - Parameters:
    ///   - sessions: The other sessions of the user.
    ///   - limit: The most sessions that the user may have, at least 1.
    public func replaced(among sessions: [Session], limit: Int) -> [Session] {
        let expired = sessions.filter { $0.ends <= began }
        let rest = sessions.filter { $0.ends > began }.sorted { ($1.renewed, $1.id.text) < ($0.renewed, $0.id.text) }
        return expired + rest.dropFirst(limit - 1)
    }
}

/// A user's name for a device: 1–64 bytes of UTF-8 without control characters.
public struct DeviceLabel: Sendable, Hashable, CustomStringConvertible {
    /// The label.
    public let text: String

    /// Creates a label, or returns nil if the text does not match the grammar.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        self.text = text
    }

    /// The label.
    public var description: String { text }
}
