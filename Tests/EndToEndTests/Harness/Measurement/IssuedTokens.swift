import GatewayCore
import GatewayTesting
import HMACToken

/// Tokens as an operator issues them, by the key file of a test's directory.
enum IssuedTokens {
    /// The authenticator that takes them, as the configuration has it.
    static let configuration = "hmac-token: { keys: token-keys.yaml }"

    /// A token of alice's.
    static func alice(by directory: TestFiles, now: WallTime = Clocks.system.wall()) throws -> String {
        guard let alice = UserName(canonical: "alice") else { throw SystemTools.Failure(description: "no name") }
        let signer = try TokenSigner(HMACTokenPlugin.Settings(keys: "\(directory.path)/token-keys.yaml"))
        return try signer.issue(subject: alice, now: now).token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
