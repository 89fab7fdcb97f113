import GatewayCore
import GatewayTesting
import HMACToken

func identity(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
    .accepted(user, groups: groups, by: HMACTokenPlugin.name)
}

/// Makes an authenticator with the keys of `Forge`, or with others.
func testAuthenticator(
    _ context: PluginContext = PluginContext.test(), keys: String = Forge.keys
) async throws -> any Authenticator {
    let files = try TestFiles()
    let file = try files.write(keys)
    return try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: context)
}
