import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import OIDC

@Suite("Logins through a browser")
struct BrowserLoginTests {
    @Test("The browser goes to the provider's endpoint with PKCE, state and nonce")
    func authorizationURL() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator { $0.login?.scopes = ["openid", "groups"] }
        #expect(authenticator.offersBrowserLogins)
        let url =
            "\(login.provider.issuer)/login?response_type=code&client_id=console"
            + "&redirect_uri=https%3A%2F%2Fconsole.example.com%2Flogin%2Fcallback&scope=openid%20groups&state=s-1"
            + "&nonce=n-1&code_challenge=challenge&code_challenge_method=S256"
        #expect(await authenticator.beginLogin(TestLogin.request()) == .redirect(to: url))
        #expect(
            await authenticator.beginLogin(TestLogin.request(requiresNewProof: true))
                == .redirect(to: url + "&prompt=login&max_age=0"))
        #expect(try await !login.provider.authenticator().offersBrowserLogins)
        await login.provider.server.stop()
    }

    @Test("A public client redeems the code with its id and the verifier; the token decides who the user is")
    func publicClient() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        login.redeem(["groups": #"["staff","not a group"]"#, "sid": "\"s1\"", "sub": "\"alice\""])
        let outcome = await authenticator.completeLogin(TestLogin.response())
        guard case .accepted(let user) = outcome else {
            Issue.record("not accepted: \(outcome)")
            return
        }
        #expect(user.user.text == "alice" && user.groups.map(\.text) == ["staff"])
        #expect(
            user.token?.provider
                == ProviderLogin(issuer: login.provider.issuer, subject: "alice", session: "s1"))
        #expect(
            login.forms == [
                "grant_type=authorization_code&code=c%2F1%20%26"
                    + "&redirect_uri=https%3A%2F%2Fconsole.example.com%2Flogin%2Fcallback&code_verifier=verifier"
                    + "&client_id=console"
            ])
        #expect(login.provider.server.seen.allSatisfy { $0.values("Authorization").isEmpty })
        // The discovery document is read once for the keys and once for all logins.
        _ = await authenticator.complete()
        _ = await authenticator.beginLogin(TestLogin.request())
        #expect(login.provider.server.seen.filter { $0.target.hasPrefix("/.well-known") }.count == 2)
        await login.provider.server.stop()
    }

    @Test("A confidential client authenticates with its secret in the field, or in the form if the provider says so")
    func secret() async throws {
        let files = try TestFiles()
        let file = try files.write("geh:eim%\n", to: "secret", mode: 0o600)
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator(secret: file)
        login.redeem()
        #expect(await authenticator.complete() == identity("alice"))
        let expected = String(decoding: Base64.encode(Array("console:geh%3Aeim%25".utf8), .standard), as: UTF8.self)
        #expect(login.provider.server.seen.last?.values("Authorization") == ["Basic \(expected)"])
        #expect(login.forms.last?.contains("client_") == false)
        // A new secret is used without a reload.
        try files.write("neu", to: "secret", mode: 0o600)
        login.provider.state.withLock { state in
            state.discovery = {
                TestLogin.discovery($0, extra: #","token_endpoint_auth_methods_supported":["client_secret_post"]"#)
            }
        }
        login.provider.clock.advance(by: .seconds(15 * 60))
        login.redeem()
        #expect(await authenticator.complete() == identity("alice"))
        #expect(login.provider.server.seen.last?.values("Authorization") == [])
        #expect(login.forms.last?.hasSuffix("&client_id=console&client_secret=neu") == true)
        try files.write("", to: "secret", mode: 0o600)
        #expect(await authenticator.complete() == .unavailable(.failed))
        await login.provider.server.stop()
    }

    @Test(
        "An ID token that is not for this login is rejected",
        arguments: [
            (["aud": "\"notify\""], .untrusted), (["aud": #"["console","notify"]"#], .untrusted),
            (["aud": #"["console","notify"]"#, "azp": "\"notify\""], .untrusted),
            (["azp": "\"notify\""], .untrusted), (["nonce": "\"n-2\""], .untrusted), (["nonce": ""], .untrusted),
            (["nonce": "1"], .untrusted), (["iss": "\"https://evil.example\""], .untrusted), (["exp": ""], .malformed),
            (["iat": ""], .malformed), (["sub": "\"Alice\""], .unmapped), (["sub": ""], .malformed),
            (["events": "{}"], .untrusted), (["cnf": "{}"], .untrusted),
        ] as [([String: String], InvalidCredentialReason)])
    func claims(_ changes: [String: String], _ reason: InvalidCredentialReason) async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        login.redeem(changes)
        #expect(await authenticator.complete() == .rejected(reason))
        await login.provider.server.stop()
    }

    @Test("Several audiences need azp; expiry, signature, type and the user's rules are those of tokens")
    func rules() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        func outcome() async -> AuthenticationOutcome { await authenticator.complete() }
        login.redeem(["aud": #"["console","notify"]"#, "azp": "\"console\""])
        #expect(await outcome() == identity("alice"))
        login.redeem(["typ": "\"ID\""])
        #expect(await outcome() == identity("alice"))
        let now = login.provider.clock.clocks.wall().seconds
        login.redeem(["iat": "\(now - 600)", "exp": "\(now - 61)"])
        #expect(await outcome() == .rejected(.expired))
        login.redeem(["iat": "\(now + 61)", "exp": "\(now + 600)"])
        #expect(await outcome() == .rejected(.notYetValid))
        login.redeem(key: .otherRSA)
        #expect(await outcome() == .rejected(.untrusted))
        login.redeem(header: #"{"alg":"none"}"#)
        #expect(await outcome() == .rejected(.untrusted))
        login.redeem(header: #"{"alg":"RS256","typ":"at+jwt","kid":"k1"}"#)
        #expect(await outcome() == .rejected(.untrusted))
        login.redeem(header: #"{"alg":"RS256","typ":"logout+jwt","kid":"k1"}"#)
        #expect(await outcome() == .rejected(.untrusted))
        // The clients and scopes of bearer tokens do not concern the ID token, the claim of the user does.
        let email = try await login.authenticator { settings in
            (settings.clients, settings.scopes, settings.userClaim) = (["app"], ["push"], "email")
        }
        login.redeem(["email": "\"alice@example.com\""])
        #expect(await email.complete() == .rejected(.untrusted))
        login.redeem(["email": "\"alice@example.com\"", "email_verified": "true"])
        #expect(await email.complete().isGrant)
        // An ID token is no bearer token of the audience.
        let token = login.provider.token("k1", ["aud": "\"console\"", "nonce": "\"n-1\""])
        #expect(await authenticator.present(token) == .rejected(.untrusted))
        await login.provider.server.stop()
    }

    @Test("A key that the provider began to use is read for the ID token")
    func rotation() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        login.provider.clock.advance(by: .seconds(5))
        login.provider.setKeys([TestKey.p256.jwk("k2")])
        login.redeem(key: .p256, kid: "k2")
        #expect(await authenticator.complete() == identity("alice"))
        login.redeem(key: .otherRSA, kid: "k3")
        #expect(await authenticator.complete() == .rejected(.untrusted))
        await login.provider.server.stop()
    }

    @Test("A new proof needs an auth_time that is not before the login")
    func newProof() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        let now = login.provider.clock.clocks.wall()
        func outcome(_ time: String) async -> AuthenticationOutcome {
            login.redeem(["auth_time": time])
            return await authenticator.complete(TestLogin.response(provedSince: now))
        }
        for time in ["\(now.seconds)", "\(now.seconds - 60)"] { #expect(await outcome(time) == identity("alice")) }
        for time in ["", "\(now.seconds - 61)", "\(now.seconds + 61)", "\"now\"", "null"] {
            #expect(await outcome(time) == .rejected(.untrusted), "\(time)")
        }
        await login.provider.server.stop()
    }

    @Test("A response of another issuer redeems no code (RFC 9207)")
    func mixUp() async throws {
        let login = try await TestLogin.start()
        let authenticator = try await login.authenticator()
        login.redeem()
        let other = TestLogin.response(issuer: "https://evil.example")
        #expect(await authenticator.complete(other) == .rejected(.untrusted))
        #expect(login.forms.isEmpty)
        let own = TestLogin.response(issuer: login.provider.issuer)
        #expect(await authenticator.complete(own) == identity("alice"))
        #expect(await authenticator.complete() == identity("alice"))
        // A provider that promises to name itself must do so.
        login.provider.state.withLock { state in
            state.discovery = {
                TestLogin.discovery($0, extra: #","authorization_response_iss_parameter_supported":true"#)
            }
        }
        login.provider.clock.advance(by: .seconds(15 * 60))
        login.redeem()
        #expect(await authenticator.complete(own) == identity("alice"))
        #expect(await authenticator.complete() == .rejected(.untrusted))
        await login.provider.server.stop()
    }
}
