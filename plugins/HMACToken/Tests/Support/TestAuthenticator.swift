import GatewayCore
import GatewayTesting
import HMACToken

func identity(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
    .accepted(user, groups: groups, by: HMACTokenPlugin.name)
}

/// An authenticator over the forge's keys, or over others.
func testAuthenticator(
    _ context: PluginContext = PluginContext.test(), keys: String = Forge.keys
) async throws -> any Authenticator {
    let files = try TestFiles()
    let file = try files.write(keys)
    return try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: context)
}
