import GatewayCore
import GatewayTesting
import HMACToken
import Testing

@Suite("Claims of tokens")
struct TokenClaimsTests {
    @Test(
        "Valid claims are accepted",
        arguments: [
            ["aud": #"["other","notify"]"#],
            ["iat": "1795244400.75", "exp": "1795244401.25"],
            ["iat": "1795244460"],
            ["exp": "1795244341", "iat": "1795244000"],
            ["iat": "1794643200", "exp": "1795248000"],
            ["nbf": "1795244460"],
            ["nbf": "0"],
            ["jti": "\"!~\""],
            ["groups": "[]"],
            ["unknown": #"{"a":[1,2,{"b":null}]}"#],
        ])
    func goodClaims(changes: [String: String]) async throws {
        let answer = try await testAuthenticator().present(Forge.token(claims: Forge.claims(changes)))
        #expect(answer == identity("alice"))
    }

    @Test(
        "Invalid claims are rejected with their reason",
        arguments: [
            (["iss": ""], .malformed), (["iss": "null"], .malformed), (["iss": "\"other\""], .untrusted),
            (["iss": "\"Notify-Gateway\""], .untrusted), (["iss": #"["notify-gateway"]"#], .malformed),
            (["aud": ""], .malformed), (["aud": "\"other\""], .untrusted), (["aud": "[]"], .untrusted),
            (["aud": #"["notify",1]"#], .malformed), (["aud": #"{"notify":1}"#], .malformed),
            (["sub": ""], .malformed), (["sub": "7"], .malformed), (["sub": "\"\""], .unmapped),
            (["sub": "\"Alice\""], .unmapped), (["sub": "\"a:b\""], .unmapped),
            (["sub": "\"alice\\u0000\""], .unmapped),
            (["jti": ""], .malformed), (["jti": "\"\""], .malformed), (["jti": "\"a b\""], .malformed),
            (["jti": "\"\(String(repeating: "x", count: 129))\""], .malformed), (["jti": "1"], .malformed),
            (["exp": ""], .malformed), (["exp": "\"1795248000\""], .malformed), (["exp": "1e10"], .malformed),
            (["exp": "-1"], .malformed), (["exp": "99999999999999999999"], .malformed),
            (["exp": "9223372036854775807"], .malformed), (["exp": "true"], .malformed),
            (["exp": "1795244340", "iat": "1795244000"], .expired),
            (["exp": "1795244400", "iat": "1795244400"], .untrusted),
            (["exp": "1795849201"], .untrusted), (["iat": ""], .malformed), (["iat": "1795244461"], .notYetValid),
            (["nbf": "1795244461"], .notYetValid), (["nbf": "\"0\""], .malformed), (["nbf": "null"], .malformed),
            (["groups": "\"dispatch\""], .malformed), (["groups": "[1]"], .malformed),
            (["groups": #"["no group"]"#], .malformed), (["groups": "null"], .malformed),
        ] as [([String: String], InvalidCredentialReason)])
    func badClaims(changes: [String: String], reason: InvalidCredentialReason) async throws {
        let answer = try await testAuthenticator().present(Forge.token(claims: Forge.claims(changes)))
        #expect(answer == .rejected(reason), "\(changes)")
    }

    @Test(
        "A payload that is not a set of claims is malformed",
        arguments: [
            "", "null", "[]", "\"x\"", "{", "{}", "{}{}", Forge.claims() + "x",
            "{\"sub\":\"bob\"," + Forge.claims().dropFirst(), "{\"SUB\":\"bob\"," + Forge.claims().dropFirst(),
            "{\"Exp\":9999999999," + Forge.claims().dropFirst(),
        ])
    func badPayloads(payload: String) async throws {
        #expect(try await testAuthenticator().present(Forge.token(claims: payload)) == .rejected(.malformed))
    }
}
