import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import LDAP

/// The `ldap` authenticator of the program, with workers that run the program of this package. The test process cannot
/// be a worker.
enum TestLDAPPlugin: AuthenticatorPlugin {
    static let name = LDAPPlugin.name
    static let credentialKinds = LDAPPlugin.credentialKinds
    static let accountStatusSupport = LDAPPlugin.accountStatusSupport
    static let outcomeDependsOnPeer = LDAPPlugin.outcomeDependsOnPeer

    static func readSettings(_ reader: ConfigurationReader) -> LDAPPlugin.Settings? {
        var settings = LDAPPlugin.readSettings(reader)
        settings?.program = SystemTools.program
        return settings
    }

    static func problems(in settings: LDAPPlugin.Settings, context: PluginContext) async -> [ConfigurationProblem] {
        await LDAPPlugin.problems(in: settings, context: context)
    }

    static func makeAuthenticator(
        _ settings: LDAPPlugin.Settings, context: PluginContext
    ) async throws -> any Authenticator {
        try await LDAPPlugin.makeAuthenticator(settings, context: context)
    }
}
