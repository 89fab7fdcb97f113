import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken

/// Tokens that are issued with the key file in the directory of a test.
enum IssuedTokens {
    /// The configuration of the authenticator that accepts the tokens.
    static let configuration = "hmac-token: { keys: token-keys.yaml }"

    /// Returns a token for the user alice.
    static func alice(by directory: TestFiles, now: WallTime = Clocks.system.wall()) throws -> String {
        guard let alice = UserName(canonical: "alice") else { throw SystemTools.Failure(description: "no name") }
        let signer = try TokenSigner(HMACTokenPlugin.Settings(keys: "\(directory.path)/token-keys.yaml"))
        return try signer.issue(subject: alice, now: now).token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
