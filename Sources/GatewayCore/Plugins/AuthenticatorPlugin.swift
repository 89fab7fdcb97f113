public import GatewaySupport
public import Logging

/// A kind of authenticator that the configuration can name. The program's plug-in catalogue lists all of them.
///
/// Life cycle: the settings are read and then validated; then an authenticator is made and used. An authenticator that
/// is also a service is run and stopped.
public protocol AuthenticatorPlugin: Sendable {
    /// The plug-in's settings, read strictly before anything starts.
    associatedtype Settings: Sendable

    /// The name in the configuration.
    static var name: PluginName { get }

    /// The kinds of credential that the plug-in supports, independent of its settings.
    static var credentialKinds: Set<CredentialKind> { get }

    /// Returns the kinds that an authenticator with these settings accepts. They decide the challenges of a 401 and
    /// which credentials the authenticator receives. Must be a subset of `credentialKinds`; the default is all of
    /// `credentialKinds`.
    static func credentialKinds(_ settings: Settings) -> Set<CredentialKind>

    /// Whether the result may depend on the peer's address. If so, the password cache keeps separate entries by
    /// address.
    static var outcomeDependsOnPeer: Bool { get }

    /// Whether two authenticators of the plug-in must not have users in common by default, because each has accounts of
    /// another organization. The configuration then names the users of each.
    static var requiresDistinctUsers: Bool { get }

    /// The plug-in's ability to report on its accounts after a login.
    static var accountStatusSupport: AccountStatusSupport { get }

    /// Returns the ability of an authenticator with these settings. It must not depend on anything else: the lifetimes
    /// of sessions and devices follow from it. The default is `accountStatusSupport`.
    static func accountStatusSupport(_ settings: Settings) -> AccountStatusSupport

    /// Returns whether an authenticator with these settings offers logins through a browser (`BrowserLoginProvider`). The
    /// default is false.
    static func offersBrowserLogins(_ settings: Settings) -> Bool

    /// Reads the mapping under the plug-in's name and reports every problem to the reader. Returns nil if a problem
    /// leaves no usable settings.
    static func readSettings(_ reader: ConfigurationReader) -> Settings?

    /// Returns the problems of settings that were read successfully: missing or malformed files, keys that are too
    /// short. Must have no side effects.
    static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem]

    /// Returns all users that the authenticator has, if a file lists them; nil if they are not known in advance. Must
    /// have no side effects. The check of the configuration uses it to find users that two authenticators have. The
    /// default is nil.
    static func listedUsers(in settings: Settings, context: PluginContext) async -> Set<UserName>?

    /// Makes the authenticator. Called once, after `problems` returned none. An error prevents the gateway from
    /// starting.
    static func makeAuthenticator(_ settings: Settings, context: PluginContext) async throws -> any Authenticator
}

extension AuthenticatorPlugin {
    /// Returns all of `credentialKinds`.
    public static func credentialKinds(_ settings: Settings) -> Set<CredentialKind> { credentialKinds }

    /// The default: the plug-in reports on accounts only at a login.
    public static var accountStatusSupport: AccountStatusSupport { .loginsOnly }

    /// The default: authenticators of the plug-in may have users in common.
    public static var requiresDistinctUsers: Bool { false }

    /// Returns `accountStatusSupport`.
    public static func accountStatusSupport(_ settings: Settings) -> AccountStatusSupport { accountStatusSupport }

    /// Returns nil: the users are not known in advance.
    public static func listedUsers(in settings: Settings, context: PluginContext) async -> Set<UserName>? { nil }

    /// The default: the plug-in offers no logins through a browser.
    public static func offersBrowserLogins(_ settings: Settings) -> Bool { false }

    /// The default: results may depend on the peer's address.
    public static var outcomeDependsOnPeer: Bool { true }
}

/// A plug-in's ability to report on its accounts after a login.
public enum AccountStatusSupport: Sendable, Hashable {
    /// The status of an account can be queried without a password. The authenticators conform to
    /// `AccountAuthenticator`, and others do not.
    case status
    /// The status is known only at a login. Sessions and registrations of such accounts expire some time after the last
    /// login.
    case loginsOnly
    /// The plug-in has no accounts. Its credentials stand for accounts of other authenticators.
    case ofOthers
}

/// The facilities that a plug-in receives. A plug-in has no other access to the gateway.
public struct PluginContext: Sendable {
    /// A logger labelled with the plug-in's name.
    public let logger: Logger
    /// The pool for work that blocks or takes more than some microseconds.
    public let blockingPool: BlockingPool
    /// The pool for reading files. Logins do not use it, so that a changed file is read at once even while many
    /// passwords are being hashed.
    public let filePool: BlockingPool
    /// The clocks.
    public let clocks: Clocks
    /// The rules that make names canonical.
    public let names: NameRules
    /// Whether no later authenticator accepts the same kind of credential. If one does, an unknown name is `notMine`.
    public let isLastOfItsKind: Bool
    /// The list of revoked tokens.
    public let revocations: any RevocationList
    /// Whether a running gateway reads its configuration again. A plug-in may then accept what would be a mistake at a
    /// start, such as a file from which the last user was removed.
    public let isReload: Bool

    /// Creates a context. Called by the server and the test kit.
    public init(
        logger: Logger, blockingPool: BlockingPool, filePool: BlockingPool? = nil, clocks: Clocks, names: NameRules,
        isLastOfItsKind: Bool,
        revocations: any RevocationList = EmptyRevocationList(), isReload: Bool = false
    ) {
        self.logger = logger
        self.blockingPool = blockingPool
        self.filePool = filePool ?? blockingPool
        self.clocks = clocks
        self.names = names
        self.isLastOfItsKind = isLastOfItsKind
        self.revocations = revocations
        self.isReload = isReload
    }
}
