import GatewayCore
import GatewaySupport

/// Makes valid and forged tokens.
struct Forge {
    /// 64 random bytes, from which the secrets of the tests are cut.
    static let bytes = (0..<64).map { _ in UInt8.random(in: .min ... .max) }

    static func secret(_ count: Int = 32, offset: Int = 0) -> String {
        String(decoding: Base64.encode((bytes + bytes)[offset..<offset + count], .standard), as: UTF8.self)
    }

    /// A key file with one key of each kind.
    static let keys = """
        keys:
          - { id: k2, algorithm: HS256, secret: "\(secret())" }
          - { id: k384, algorithm: HS384, secret: "\(secret(48, offset: 1))" }
          - { id: k512, algorithm: HS512, secret: "\(secret(64, offset: 2))" }
          - { id: partner, algorithm: HS256, secret: "\(secret(32, offset: 3))", subjects: ["svc-*", carol], groups: [], issue: false }
          - { id: staff, algorithm: HS256, secret: "\(secret(32, offset: 4))", groups: [dispatch, sales], issue: false }
        """

    /// Returns the claims of a valid token. `changes` replaces a claim with other JSON, or removes it by an empty
    /// text.
    static func claims(_ changes: [String: String] = [:]) -> String {
        let good: [(String, String)] = [
            ("iss", "\"notify-gateway\""), ("aud", "\"notify\""), ("sub", "\"alice\""), ("iat", "1795244400"),
            ("exp", "1795248000"), ("jti", "\"token-1\""),
        ]
        let extra = changes.filter { change in !good.contains { $0.0 == change.key } }
        let members =
            good.map { ($0.0, changes[$0.0] ?? $0.1) } + extra.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }
        return "{" + members.filter { !$0.1.isEmpty }.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    /// Returns a token with these texts as header and claims, and a valid signature.
    static func token(
        header: String = #"{"alg":"HS256","kid":"k2","typ":"JWT"}"#, claims: String = claims(),
        key: ArraySlice<UInt8> = bytes[0..<32], algorithm: HMAC.Algorithm = .sha256
    ) -> String {
        let input = text(Array(header.utf8)) + "." + text(Array(claims.utf8))
        let tag = HMAC(algorithm, key: Secret(key))?.tag(over: Array(input.utf8)) ?? []
        return input + "." + text(tag)
    }

    static func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes, .url), as: UTF8.self) }
}
