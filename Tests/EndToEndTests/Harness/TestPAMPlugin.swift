import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import PAM

/// The `pam` authenticator of the program, with workers that run the program of this package. The test process cannot
/// be a worker.
enum TestPAMPlugin: AuthenticatorPlugin {
    static let name = PAMPlugin.name
    static let credentialKinds = PAMPlugin.credentialKinds
    static let accountStatusSupport = PAMPlugin.accountStatusSupport
    static let outcomeDependsOnPeer = PAMPlugin.outcomeDependsOnPeer

    static func readSettings(_ reader: ConfigurationReader) -> PAMPlugin.Settings? {
        var settings = PAMPlugin.readSettings(reader)
        settings?.program = SystemTools.program
        return settings
    }

    static func problems(in settings: PAMPlugin.Settings, context: PluginContext) async -> [ConfigurationProblem] {
        await PAMPlugin.problems(in: settings, context: context)
    }

    static func makeAuthenticator(
        _ settings: PAMPlugin.Settings, context: PluginContext
    ) async throws -> any Authenticator {
        try await PAMPlugin.makeAuthenticator(settings, context: context)
    }
}
