import GatewayTesting
import OIDC

@testable import GatewayCore
@testable import GatewaySupport

/// Tokens of an OpenID provider, and the authenticator that accepts them at the time for which they were signed. The
/// private keys were thrown away.
enum ProviderSample {
    static let issued = WallTime(seconds: 1_795_244_400)
    static let keySet = #"""
        {"keys": [{"kty": "RSA", "n": "pYNVFBfUCgaSqW4-z87Sl6T2XphP0e2iUX7xH6wHVIErm4O_XEHaQ-3Ke14C5SKfxo9hB\#
        MxIMm5iIYNCjESLKqChViwFZiXYBOKvUIPBG8iGfY40TSH7fttTyet28Li_htdr-ZoN0AeJwLbofD1aqpyvpNnTVHMrkFPKR7xko\#
        -ybbJlCh7pMrXEcaO5zbVR4ZlaeV_GmwKLZbqN0SDCRNeoCR2QkYJ-odia5Rs0P4nCUbaufjLLOVqqjiX86YXQOUHBpGMwOkrxAI\#
        b7uNEgmA4w-2TiNSZNCrzBFKcRgnruQQ2XB0aEhtBiDlpL78UxWGqamEktw54NQz5XI9afv0Q", "e": "AQAB", "kid": "RS2\#
        56", "alg": "RS256"}, {"kty": "EC", "crv": "P-256", "x": "xoAfDyZWzdVn6RKk0dTRUms0CISe-aalnCu_R8RJVZ\#
        Y", "y": "32PaM09P6OQsEv2tam1GB3MnpNFN1Hz4Gu-ccu3ka6c", "kid": "ES256", "alg": "ES256"}, {"kty": "OK\#
        P", "crv": "Ed25519", "x": "7-q3LQM0sGnptW-ZK_YcU4nxm62vt8LC13pg-pGV27M", "kid": "EdDSA", "alg": "Ed\#
        DSA"}]}
        """#

    /// A token for each algorithm.
    static let tokens = [
        "RS256":
            "eyJhbGciOiJSUzI1NiIsImtpZCI6IlJTMjU2IiwidHlwIjoiYXQrand0In0.eyJpc3MiOiJodHRwczovL3Byb3ZpZGVyLmV4"
            + "YW1wbGUiLCJhdWQiOiJub3RpZnkiLCJzdWIiOiJhbGljZSIsImlhdCI6MTc5NTI0NDQwMCwiZXhwIjoxNzk1MzMwODAwLCJq"
            + "dGkiOiIwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsImNsaWVudF9pZCI6ImFwcCIsInNjb3BlIjoib3Blbmlk"
            + "IG5vdGlmeSJ9.VkBTbEiej3Ev6wKMX5kI_LCaWxh08l_uQe0kL0DIFxzp4QqFXDHJkyVJpsDZrqHhnsIZsqK0ytuPx0foF0X"
            + "l79r9rjN5kS4u-QnKRHUxnraagWWqyqeyERNN5eyJeMMBtW59OY2ltBsx_w8rbzmPL_f0wOtEU5UZLKS2RTpvV8MZg6WyES-"
            + "0RO_obrL8ENOfs3qaYLEcSRrWSNgbY8GqNMQRdxDJahETD2vgzBcsKOdoM6R3p-8dz66R2hhzdwmnDfm2uzvwXplga0MlHtG"
            + "BDzpghPUGfwbVfLgX4QJ2rWoFOp0q1SBzGIxac_q-KAVMRMsa1htlUQZaa0Jz6pvwOg",
        "ES256":
            "eyJhbGciOiJFUzI1NiIsImtpZCI6IkVTMjU2IiwidHlwIjoiYXQrand0In0.eyJpc3MiOiJodHRwczovL3Byb3ZpZGVyLmV4"
            + "YW1wbGUiLCJhdWQiOiJub3RpZnkiLCJzdWIiOiJhbGljZSIsImlhdCI6MTc5NTI0NDQwMCwiZXhwIjoxNzk1MzMwODAwLCJq"
            + "dGkiOiIwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsImNsaWVudF9pZCI6ImFwcCIsInNjb3BlIjoib3Blbmlk"
            + "IG5vdGlmeSJ9.ZKyuAp2wK-yMms2aiFJt5y3kI8UfWG2heLhuGwhYIA7IV2iTDORLvG_2SRMh_T49Hc0egFRL9VP_FLZdlPW"
            + "efA",
        "EdDSA":
            "eyJhbGciOiJFZERTQSIsImtpZCI6IkVkRFNBIiwidHlwIjoiYXQrand0In0.eyJpc3MiOiJodHRwczovL3Byb3ZpZGVyLmV4"
            + "YW1wbGUiLCJhdWQiOiJub3RpZnkiLCJzdWIiOiJhbGljZSIsImlhdCI6MTc5NTI0NDQwMCwiZXhwIjoxNzk1MzMwODAwLCJq"
            + "dGkiOiIwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMCIsImNsaWVudF9pZCI6ImFwcCIsInNjb3BlIjoib3Blbmlk"
            + "IG5vdGlmeSJ9.Rg9YAwsVVg9Ar1SFLAJ_xL6zHZSaQLPATZdk40y2JEd2us9YFoZgrbKw_1o3qBF2t1baiHq1e6tOBP_YtBZ"
            + "JAw",
    ]

    static func authenticator() async throws -> any Authenticator {
        // The files are removed when the authenticator has read them.
        let files = try TestFiles()
        var settings = OIDCPlugin.Settings(
            issuer: "https://provider.example", audience: "notify",
            keys: .file(try files.write(keySet, to: "keys.json")))
        settings.algorithms = [.rs256, .es256, .edDSA]
        return try await OIDCPlugin.makeAuthenticator(
            settings, context: .test(clocks: ManualClock(wall: issued).clocks))
    }
}

/// One token of a provider, presented again and again.
struct ProviderToken {
    let authenticator: any Authenticator
    private let token: Credential
    private let forged: Credential

    init(_ algorithm: String) async throws {
        authenticator = try await ProviderSample.authenticator()
        let text = ProviderSample.tokens[algorithm] ?? ""
        token = .bearer(token: Secret(text.utf8))
        // The last characters but four, because the last one has unused bits.
        forged = .bearer(token: Secret((text.dropLast(8) + "AAAA" + text.suffix(4)).utf8))
        _ = await verify()
    }

    func verify() async -> Bool {
        guard case .accepted(let identity) = await authenticator.authenticate(token, from: .documentation)
        else { return false }
        return identity.user == Sample.user
    }

    /// Verifies a forged signature, which is never cached, and returns whether it is rejected.
    func reject() async -> Bool {
        guard case .rejected = await authenticator.authenticate(forged, from: .documentation) else { return false }
        return true
    }
}

func measureProviderTokens() {
    for algorithm in ["RS256", "ES256", "EdDSA"] {
        measureWaiting("verify-a-provider-token-again-\(algorithm)") {
            try await ProviderToken(algorithm)
        } _: {
            await $0.verify()
        }
        measureWaiting("verify-a-forged-provider-token-\(algorithm)") {
            try await ProviderToken(algorithm)
        } _: {
            await $0.reject()
        }
    }
}
