import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import OIDC

@Suite("Claims of oidc tokens")
struct ClaimRulesTests {
    /// Presents a token with changed claims, with the settings changed by the closure.
    private func present(
        _ claims: [String: String], context: PluginContext = .test(),
        _ change: (inout OIDCPlugin.Settings) -> Void = { _ in }
    ) async throws -> AuthenticationOutcome {
        var settings = OIDCPlugin.Settings.test()
        change(&settings)
        return try await testAuthenticator(settings, context: context).present(
            Forge.token(claims: Forge.claims(claims)))
    }

    @Test("A token of another issuer belongs to another authenticator")
    func issuers() async throws {
        for issuer in ["\"https://id.example.com/\"", "\"https://ID.example.com\"", "\"\"", "null", "[]", ""] {
            #expect(try await present(["iss": issuer]) == .rejected(.untrusted), "\(issuer)")
            #expect(try await present(["iss": issuer], context: .test(isLastOfItsKind: false)) == .notMine)
        }
        #expect(
            try await testAuthenticator(context: .test(isLastOfItsKind: false)).present("no token") == .notMine)
        // A token of the issuer is never passed on.
        #expect(try await present(["aud": "\"x\""], context: .test(isLastOfItsKind: false)) == .rejected(.untrusted))
    }

    @Test("The audience must be the configured one, or contain it")
    func audiences() async throws {
        #expect(try await present(["aud": #"["other","notify"]"#]) == identity("alice"))
        for audience in [#""other""#, #""notify ""#, "[]", #"["NOTIFY"]"#] {
            #expect(try await present(["aud": audience]) == .rejected(.untrusted))
        }
        for audience in ["", "null", "7", #"["notify",7]"#] {
            #expect(try await present(["aud": audience]) == .rejected(.malformed))
        }
    }

    @Test("The times bound the token, with the leeway")
    func times() async throws {
        let now = WallTime.test.seconds
        func outcome(_ claims: [String: Int64], leeway: Int = 60) async throws -> AuthenticationOutcome {
            try await present(claims.mapValues { "\($0)" }) { $0.leeway = .seconds(leeway) }
        }
        #expect(try await outcome(["iat": now - 100, "exp": now - 59]) == identity("alice"))
        #expect(try await outcome(["iat": now - 100, "exp": now - 60]) == .rejected(.expired))
        #expect(try await outcome(["iat": now - 100, "exp": now], leeway: 0) == .rejected(.expired))
        #expect(try await outcome(["iat": now + 60]) == identity("alice"))
        #expect(try await outcome(["iat": now + 61]) == .rejected(.notYetValid))
        #expect(try await outcome(["nbf": now + 60]) == identity("alice"))
        #expect(try await outcome(["nbf": now + 61]) == .rejected(.notYetValid))
        #expect(try await outcome(["iat": now, "exp": now]) == .rejected(.untrusted))
        #expect(try await outcome(["exp": now + 7 * 86_400]) == identity("alice"))
        #expect(try await outcome(["exp": now + 7 * 86_400 + 1]) == .rejected(.untrusted))
        #expect(try await present(["exp": "1795248000.5", "iat": "1795244400.999"]) == identity("alice"))
        for value in ["", "null", "\"1795248000\"", "1e9", "-1", "99999999999999999999", "true"] {
            #expect(try await present(["exp": value]) == .rejected(.malformed), "\(value)")
            #expect(try await present(["iat": value]) == .rejected(.malformed), "\(value)")
            if !value.isEmpty { #expect(try await present(["nbf": value]) == .rejected(.malformed), "\(value)") }
        }
    }

    @Test("Clients and scopes may be demanded")
    func clientsAndScopes() async throws {
        func outcome(_ claims: [String: String]) async throws -> AuthenticationOutcome {
            try await present(claims) {
                $0.clients = ["app", "web"]
                $0.scopes = ["push", "send"]
            }
        }
        let scope = #""openid send push""#
        #expect(try await outcome(["azp": "\"app\"", "scope": scope]) == identity("alice"))
        #expect(try await outcome(["client_id": "\"web\"", "scp": #"["push","send"]"#]) == identity("alice"))
        #expect(try await outcome(["azp": "\"app\""]) == .rejected(.untrusted))
        #expect(try await outcome(["azp": "\"app\"", "scope": #""push""#]) == .rejected(.untrusted))
        #expect(try await outcome(["azp": "\"app\"", "scope": #""pushsend""#]) == .rejected(.untrusted))
        #expect(try await outcome(["scope": scope]) == .rejected(.untrusted))
        #expect(
            try await outcome(["azp": "\"other\"", "client_id": "\"app\"", "scope": scope]) == .rejected(.untrusted))
        #expect(try await outcome(["azp": "7", "scope": scope]) == .rejected(.malformed))
        #expect(try await outcome(["azp": "\"app\"", "scope": "7"]) == .rejected(.malformed))
    }

    @Test("A logout token and a token that is bound to its client are no login")
    func otherTokens() async throws {
        let event = #"{"http://schemas.openid.net/event/backchannel-logout":{}}"#
        #expect(try await present(["events": event]) == .rejected(.untrusted))
        #expect(try await present(["cnf": #"{"jkt":"AAAA"}"#]) == .rejected(.untrusted))
    }

    @Test("The user claim goes through the name rules")
    func users() async throws {
        let names = NameRules(suffixes: ["@example.com"])
        #expect(try await present(["sub": "\"alice@example.com\""], context: .test(names: names)) == identity("alice"))
        // Subjects are compared with case, so two of them could become one user.
        for subject in ["\"Alice\"", "\"ali ce\"", "\"\"", "\"wei\u{DF}\"", "\"a\\u0000\""] {
            #expect(try await present(["sub": subject]) == .rejected(.unmapped), "\(subject)")
        }
        for subject in ["", "null", "7", "[\"alice\"]"] {
            #expect(try await present(["sub": subject]) == .rejected(.malformed))
        }
        func named(_ claim: String, _ value: String) async throws -> AuthenticationOutcome {
            try await present([claim: value]) { $0.userClaim = claim }
        }
        #expect(try await named("preferred_username", "\"Bob\"") == identity("bob"))
        #expect(try await named("preferred_username", "") == .rejected(.malformed))
    }

    @Test("An address counts only if the provider has verified it")
    func addresses() async throws {
        func outcome(_ verified: String) async throws -> AuthenticationOutcome {
            try await present(["email": "\"bob@example.com\"", "email_verified": verified]) { $0.userClaim = "email" }
        }
        #expect(try await outcome("true") == identity("bob@example.com"))
        for verified in ["", "false", "null", "\"true\"", "1"] {
            #expect(try await outcome(verified) == .rejected(.untrusted))
        }
    }

    @Test("The groups are a list, or words; other texts are dropped")
    func groups() async throws {
        #expect(try await present(["groups": #"["a","b c","Sales","/x",7]"#]) == identity("alice"))
        #expect(
            try await present(["groups": #"["a","b c","Sales","/x"]"#]) == identity("alice", groups: ["a", "Sales"]))
        #expect(try await present(["groups": #""a Sales""#]) == identity("alice", groups: ["a", "Sales"]))
        #expect(try await present(["roles": #"["a"]"#]) == identity("alice"))
        #expect(
            try await present(["roles": #"["a"]"#]) { $0.groupsClaim = "roles" } == identity("alice", groups: ["a"]))
        #expect(try await present(["groups": "{}"]) == identity("alice"))
    }

    @Test("The reference of a token serves its revocation, and its login a session")
    func references() async throws {
        let authenticator = try await testAuthenticator()
        let claims = Forge.claims(["jti": "\"token-1\""])
        let first = await authenticator.presentWithReference(Forge.token(claims: claims)).token
        #expect(
            first
                == TokenReference(
                    id: "token-1", session: nil, issued: WallTime(seconds: 1_795_244_340),
                    expires: WallTime(seconds: 1_795_248_000),
                    provider: ProviderLogin(issuer: Forge.issuer, subject: "alice")))
        let (a, b) = (Forge.token(), Forge.token(claims: Forge.claims(["x": "1"])))
        let ids = [
            await authenticator.presentWithReference(a).token?.id,
            await authenticator.presentWithReference(b).token?.id,
        ]
        #expect(ids[0]?.utf8.count == 22 && ids[0] != ids[1])
        let odd = Forge.token(claims: Forge.claims(["jti": "\"\(String(repeating: "j", count: 129))\""]))
        #expect(await authenticator.presentWithReference(odd).token?.id.utf8.count == 22)
    }

    @Test("A cached token is rejected once it is revoked or has expired")
    func revoked() async throws {
        final class Revocations: RevocationList {
            let all = Atomic(false)
            func isRevoked(_ token: TokenReference, of user: UserName) -> Bool { all.load(ordering: .relaxed) }
        }
        let (revocations, clock) = (Revocations(), ManualClock(wall: .test))
        let base = PluginContext.test(clocks: clock.clocks)
        let authenticator = try await testAuthenticator(
            context: PluginContext(
                logger: base.logger, blockingPool: base.blockingPool, clocks: base.clocks, names: base.names,
                isLastOfItsKind: true, revocations: revocations))
        let token = Forge.token()
        for isRevoked in [false, true, false] {
            revocations.all.store(isRevoked, ordering: .relaxed)
            let expected = isRevoked ? AuthenticationOutcome.rejected(.revoked) : identity("alice")
            #expect(await authenticator.present(token) == expected)
        }
        clock.advance(by: .seconds(3659))
        #expect(await authenticator.present(token) == identity("alice"))
        clock.advance(by: .seconds(1))
        #expect(await authenticator.present(token) == .rejected(.expired))
    }

    @Test("Passwords are not for this authenticator")
    func passwords() async throws {
        #expect(try await testAuthenticator().login("alice", "password") == .notMine)
    }
}
