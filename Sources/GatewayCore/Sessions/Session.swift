/// What a password was exchanged for: a line of tokens, each got with the one before, until the session ends.
public struct Session: Sendable, Hashable {
    /// Its id, in every token of it.
    public let id: SessionID
    /// Whose it is.
    public let user: UserName
    /// The name that was logged in with: what its authenticator knows the account by.
    public let login: LoginName
    /// Who vouched for the password.
    public let authenticator: PluginName
    /// What the user calls the device, where it said: for the user's own list of sessions.
    public let device: DeviceLabel?
    /// When the password was presented.
    public let began: WallTime
    /// When the password must be presented again.
    public let ends: WallTime
    /// When the latest token of it was issued.
    public var renewed: WallTime

    /// A session from its parts.
    public init(
        id: SessionID, user: UserName, login: LoginName, authenticator: PluginName, device: DeviceLabel?,
        began: WallTime, ends: WallTime, renewed: WallTime
    ) {
        self.id = id
        self.user = user
        self.login = login
        self.authenticator = authenticator
        self.device = device
        self.began = began
        self.ends = ends
        self.renewed = renewed
    }

    /// The account that it began with.
    public var account: Account { Account(user: user, login: login, authenticator: authenticator) }
}

/// What a user calls a device: 1–64 bytes of UTF-8 without control characters.
public struct DeviceLabel: Sendable, Hashable, CustomStringConvertible {
    /// The label.
    public let text: String

    /// The label, or nil if the text is not one.
    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { return nil }
        self.text = text
    }

    /// The label.
    public var description: String { text }
}
