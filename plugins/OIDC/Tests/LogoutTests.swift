import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import OIDC

@Suite("Logout tokens of oidc")
struct LogoutTests {
    private static let event = #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#
    private static let now = WallTime.test.seconds

    /// Returns the claims of a valid logout token. `changes` replaces a claim with other JSON, or removes it by an
    /// empty text.
    private static func claims(_ changes: [String: String] = [:]) -> String {
        Forge.claims(
            [
                "aud": "\"app\"", "jti": "\"logout-1\"", "events": event, "exp": "\(now + 120)", "sid": "\"s1\"",
            ].merging(changes) { $1 })
    }

    private static func token(_ changes: [String: String] = [:], type: String? = "logout+jwt") -> String {
        let type = type.map { ",\"typ\":\"\($0)\"" } ?? ""
        return Forge.token(header: "{\"alg\":\"RS256\",\"kid\":\"k1\"\(type)}", claims: claims(changes))
    }

    private func receiver(
        audience: String? = "app", context: PluginContext = .test()
    ) async throws -> any LogoutReceiver {
        var settings = OIDCPlugin.Settings.test()
        settings.logoutAudience = audience
        return try #require(try await testAuthenticator(settings, context: context) as? any LogoutReceiver)
    }

    private func outcome(_ token: String) async throws -> LogoutOutcome {
        try await receiver().verifyLogout(Secret(token.utf8))
    }

    private func accepted(_ targets: Set<ProviderLogout.Target>) -> LogoutOutcome {
        .accepted(
            ProviderLogout(issuer: Forge.issuer, targets: targets, issued: WallTime(seconds: Self.now - 60)))
    }

    @Test("A token with sid, with sub, or with both announces the logout of that session or account")
    func targets() async throws {
        #expect(try await outcome(Self.token()) == accepted([.session("s1"), .subjectWithoutSession("alice")]))
        #expect(try await outcome(Self.token(["sub": ""])) == accepted([.session("s1")]))
        #expect(try await outcome(Self.token(["sid": ""])) == accepted([.subject("alice")]))
        for type in [nil, "JWT", "application/logout+jwt"] {
            #expect(try await outcome(Self.token(type: type)) != .rejected(.untrusted), "\(type ?? "none")")
        }
    }

    @Test(
        "A token that is no logout token is rejected",
        arguments: [
            ["sub": "", "sid": ""], ["jti": ""], ["jti": "\"\""], ["events": ""], ["events": "{}"], ["events": "[]"],
            ["events": #"{"http://schemas.openid.net/event/backchannel-logout":true}"#], ["nonce": "\"n\""],
            ["nonce": "null"], ["iat": ""], ["aud": "\"notify\""], ["aud": ""], ["sid": "7"], ["sub": "\"\""],
            ["exp": "\"soon\""],
        ])
    func otherTokens(_ changes: [String: String]) async throws {
        let outcome = try await outcome(Self.token(changes))
        #expect(outcome == .rejected(.malformed) || outcome == .rejected(.untrusted))
    }

    @Test("A forged, old or early token, or one of another issuer or type, is rejected")
    func forgeries() async throws {
        let header = #"{"alg":"RS256","kid":"k1"}"#
        #expect(
            try await outcome(Forge.token(header: header, claims: Self.claims(), key: .otherRSA))
                == .rejected(.untrusted))
        #expect(try await outcome(Forge.token(kid: "k2", claims: Self.claims())) == .rejected(.untrusted))
        #expect(try await outcome(Self.token(type: "at+jwt")) == .rejected(.untrusted))
        #expect(try await outcome(Self.token(["iss": "\"https://other.example\""])) == .notMine)
        #expect(try await outcome("no token") == .notMine)
        #expect(try await outcome(Forge.token()) == .rejected(.untrusted))
        #expect(try await outcome(Self.token(["exp": "\(Self.now - 60)"])) == .rejected(.expired))
        #expect(try await outcome(Self.token(["exp": "", "iat": "\(Self.now - 360)"])) == .rejected(.expired))
        #expect(try await outcome(Self.token(["iat": "\(Self.now + 61)"])) == .rejected(.notYetValid))
    }

    @Test("A logout token is accepted once, and is no login")
    func replay() async throws {
        let receiver = try await receiver()
        let token = Secret(Self.token().utf8)
        #expect(await receiver.verifyLogout(token) == accepted([.session("s1"), .subjectWithoutSession("alice")]))
        #expect(await receiver.verifyLogout(token) == .rejected(.revoked))
        // Another signature or other claims under the same id do not help.
        #expect(await receiver.verifyLogout(Secret(Self.token(["sid": ""]).utf8)) == .rejected(.revoked))
        #expect(await receiver.verifyLogout(Secret(Self.token(["jti": "\"logout-2\""]).utf8)) != .rejected(.revoked))
        #expect(
            await receiver.present(Self.token(["aud": "\"notify\"", "jti": "\"x\""], type: "JWT"))
                == .rejected(.untrusted))
    }

    @Test("The ids of accepted tokens are kept within a bound")
    func bound() throws {
        let (seen, now) = (SeenLogouts(), WallTime.test)
        func insert(_ number: Int) -> Bool {
            seen.insert(
                .init(
                    announced: ProviderLogout(issuer: "i", targets: [], issued: now), id: "\(number)",
                    ends: WallTime(seconds: now.seconds + 300)), at: now)
        }
        for number in 0...SeenLogouts.capacity { #expect(insert(number)) }
        #expect(!insert(SeenLogouts.capacity))
        // The oldest was forgotten.
        #expect(insert(0))
    }

    @Test("Without logout-audience no logout is received")
    func unconfigured() async throws {
        let receiver = try await receiver(audience: nil)
        #expect(!receiver.receivesLogouts)
        #expect(await receiver.verifyLogout(Secret(Self.token().utf8)) == .rejected(.untrusted))
        #expect(try await self.receiver().receivesLogouts)
    }
}
