import GatewayCore
import GatewaySupport
import GatewayTesting

/// An authenticator without settings.
enum FixedPlugin: AuthenticatorPlugin {
    static let name: PluginName = "fixed"
    static let credentialKinds: Set<CredentialKind> = [.password]
    static let accountStatusSupport = AccountStatusSupport.status

    static func readSettings(_ reader: ConfigurationReader) -> Bool? { true }
    static func problems(in settings: Bool, context: PluginContext) async -> [ConfigurationProblem] { [] }
    static func makeAuthenticator(_ settings: Bool, context: PluginContext) async throws -> any Authenticator {
        ScriptedAuthenticator(always: .rejected(.wrong))
    }
}
