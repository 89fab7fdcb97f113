/// A kind of authenticator that the configuration can name. Listed in the program's catalogue, and nowhere else.
///
/// Its life: settings are read, then validated, then an authenticator is made, used and, if it is a service, run and stopped.
public protocol AuthenticatorPlugin: Sendable {
    /// What the operator configured, read strictly before anything starts.
    associatedtype Settings: Sendable

    /// The word used in the configuration.
    static var name: PluginName { get }

    /// The kinds of credential that it takes, whatever is configured.
    static var takes: Set<CredentialKind> { get }

    /// The kinds that it takes with these settings: what a 401 challenges for, and what it is asked about. All of `takes` unless
    /// implemented; never more.
    static func takes(_ settings: Settings) -> Set<CredentialKind>

    /// Whether its answer may depend on the peer's address. If so, remembered verdicts are kept apart by address.
    static var verdictDependsOnPeer: Bool { get }

    /// What it can say of the accounts that it vouches for, after a login.
    static var accountKnowledge: AccountKnowledge { get }

    /// Reads the mapping that stands behind the plug-in's name. Every problem goes to the reader; nil if there was one
    /// that leaves no usable settings.
    static func readSettings(_ reader: ConfigurationReader) -> Settings?

    /// Everything wrong with settings that read well: files missing or malformed, keys too short. Touches nothing.
    static func problems(in settings: Settings, context: PluginContext) async -> [ConfigurationProblem]

    /// Makes the authenticator. Called once, after `problems` found none; what it throws ends the start.
    static func makeAuthenticator(_ settings: Settings, context: PluginContext) async throws -> any Authenticator
}

extension AuthenticatorPlugin {
    /// All of `takes`.
    public static func takes(_ settings: Settings) -> Set<CredentialKind> { takes }

    /// Only a login tells, unless the plug-in says otherwise.
    public static var accountKnowledge: AccountKnowledge { .loginsOnly }

    /// Apart by address, unless the plug-in says otherwise.
    public static var verdictDependsOnPeer: Bool { true }
}

/// What a plug-in can say of the accounts that it vouches for, after a login.
public enum AccountKnowledge: Sendable, Hashable {
    /// Whether an account is still good, without a password: its authenticators are `AccountAuthenticator`s.
    case status
    /// Nothing until the next login. Sessions and registrations of its accounts end some time after the last login.
    case loginsOnly
    /// It has no accounts of its own: its credentials speak for accounts of other authenticators.
    case ofOthers
}
