import GatewayCore
import GatewaySupport
import GatewayTesting

@testable import OIDC

/// Makes valid and forged tokens of a provider.
enum Forge {
    static let issuer = "https://id.example.com"

    /// Returns the claims of a valid token. `changes` replaces a claim with other JSON, or removes it by an empty
    /// text.
    static func claims(_ changes: [String: String] = [:]) -> String {
        let good: [(String, String)] = [
            ("iss", "\"\(issuer)\""), ("aud", "\"notify\""), ("sub", "\"alice\""), ("iat", "1795244400"),
            ("exp", "1795248000"),
        ]
        let extra = changes.filter { change in !good.contains { $0.0 == change.key } }
        let members =
            good.map { ($0.0, changes[$0.0] ?? $0.1) } + extra.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        return "{" + members.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// Returns a token with these texts as header and claims, and a valid signature.
    static func token(
        _ algorithm: SignatureAlgorithm = .rs256, kid: String? = "k1", header: String? = nil,
        claims: String = claims(), key: TestKey? = nil
    ) -> String {
        let id = kid.map { ",\"kid\":\"\($0)\"" } ?? ""
        let header = header ?? "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\"\(id)}"
        let input = text(Array(header.utf8)) + "." + text(Array(claims.utf8))
        return input + "." + text((key ?? TestKey.of(algorithm)).sign(Array(input.utf8), algorithm))
    }

    /// Returns a key set with these elements.
    static func set(_ keys: [String]) -> String { "{\"keys\":[\(keys.joined(separator: ","))]}" }

    /// A set with the RSA key `k1`.
    static let keys = set([TestKey.rsa.jwk("k1")])

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes, .url), as: UTF8.self) }
}

extension OIDCPlugin.Settings {
    /// Settings for the tokens of `Forge`.
    static func test(algorithms: Set<SignatureAlgorithm> = [.rs256]) -> OIDCPlugin.Settings {
        var settings = OIDCPlugin.Settings(issuer: Forge.issuer, audience: "notify")
        settings.algorithms = algorithms
        return settings
    }
}

/// Makes an authenticator with a file of keys.
func testAuthenticator(
    _ settings: OIDCPlugin.Settings = .test(), keys: String = Forge.keys, context: PluginContext = .test()
) async throws -> any Authenticator {
    let files = try TestFiles()
    var settings = settings
    settings.keys = .file(try files.write(keys, to: "keys.json"))
    return try await OIDCPlugin.makeAuthenticator(settings, context: context)
}

func identity(_ user: String, groups: [String] = []) -> AuthenticationOutcome {
    .accepted(user, groups: groups, by: OIDCPlugin.name)
}
