public import GatewaySupport

/// A login at an identity provider, as its tokens name it.
public struct ProviderLogin: Sendable, Hashable {
    /// The maximum length of a subject and of a session id in bytes.
    public static let maximumLength = 255

    /// The provider (`iss`).
    public let issuer: String
    /// The account at the provider (`sub`).
    public let subject: String
    /// The session at the provider (`sid`); nil if its tokens name none.
    public let session: String?

    /// The name of the account at the provider.
    public var login: LoginName { LoginName(subject) }

    /// Creates a login.
    public init(issuer: String, subject: String, session: String? = nil) {
        self.issuer = issuer
        self.subject = subject
        self.session = session
    }
}

/// The logout that a logout token announces: of one session at the provider, or of all sessions of one account.
public struct ProviderLogout: Sendable, Hashable {
    /// The logins that the logout ends.
    public enum Target: Sendable, Hashable {
        /// Those of one session at the provider (`sid`).
        case session(String)
        /// Those of an account (`sub`).
        case subject(String)
        /// Those of an account whose tokens name no session.
        case subjectWithoutSession(String)
    }

    /// The provider (`iss`).
    public let issuer: String
    /// The logins that the logout ends.
    public let targets: Set<Target>
    /// The time of issue (`iat`). Provider tokens up to this time are refused.
    public let issued: WallTime

    /// Creates a logout.
    public init(issuer: String, targets: Set<Target>, issued: WallTime) {
        self.issuer = issuer
        self.targets = targets
        self.issued = issued
    }

    /// The targets that a login belongs to.
    static func targets(of login: ProviderLogin) -> [Target] {
        [.subject(login.subject), login.session.map { .session($0) } ?? .subjectWithoutSession(login.subject)]
    }

    /// Whether the logout ends the login.
    func ends(_ login: ProviderLogin) -> Bool {
        issuer == login.issuer && Self.targets(of: login).contains(where: targets.contains)
    }
}
