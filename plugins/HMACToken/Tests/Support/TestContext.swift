import GatewayCore
import GatewayTesting
import HMACToken

extension Authenticator {
    func present(_ token: String) async -> AuthenticationOutcome {
        let credential = Credential.bearer(token: Secret(token.utf8))
        return await authenticate(credential, from: Peer(address: .v4(0x7F00_0001), text: "127.0.0.1"))
    }
}

func identity(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
    guard let user = UserName(canonical: user) else { return .notMine }
    return .accepted(
        Identity(user: user, groups: Set(groups.compactMap(GroupName.init)), authenticator: HMACTokenPlugin.name))
}

/// An authenticator over the forge's keys, or over others.
func testAuthenticator(
    _ context: PluginContext = PluginContext.test(), keys: String = Forge.keys
) async throws -> any Authenticator {
    let files = try TestFiles()
    let file = try files.write(keys)
    return try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: context)
}
