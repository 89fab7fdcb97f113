public import GatewayCore
public import GatewaySupport

/// A plug-in `fixed` without settings, whose authenticator rejects every password.
public enum FixedPlugin: AuthenticatorPlugin {
    /// `fixed`
    public static let name: PluginName = "fixed"
    /// Passwords.
    public static let credentialKinds: Set<CredentialKind> = [.password]
    /// The status of an account is known.
    public static let accountStatusSupport = AccountStatusSupport.status

    /// Reads nothing.
    public static func readSettings(_ reader: ConfigurationReader) -> Bool? { true }
    /// Finds no problem.
    public static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
    /// Makes the authenticator.
    public static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}
