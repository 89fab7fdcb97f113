import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Testing

@Suite("Verification of presented tokens")
struct HMACTokenAuthenticatorTests {
    @Test("A valid token of each algorithm is accepted")
    func good() async throws {
        let authenticator = try await testAuthenticator()
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
        let bytes = Forge.bytes + Forge.bytes
        let longer = Forge.token(
            header: #"{"typ":"jwt","kid":"k384","alg":"HS384"}"#, key: bytes[1..<49], algorithm: .sha384)
        #expect(await authenticator.present(longer) == identity("alice"))
        let longest = Forge.token(
            header: #" { "alg" : "HS512" , "kid" : "k512" } "#, key: bytes[2..<66], algorithm: .sha512)
        #expect(await authenticator.present(longest) == identity("alice"))
    }

    @Test(
        "A header in any valid spelling is accepted",
        arguments: [
            #"{"alg":"HS256","kid":"k2","typ":"JWT"}"#, #"{"alg":"HS256","typ":"JWT","kid":"k2"}"#,
            #"{"typ":"JWT","alg":"HS256","kid":"k2"}"#, #"{"kid":"k2","alg":"HS256"}"#,
            #"{"typ":"JWT", "alg":"HS256", "kid":"k2"}"#, #"{"alg":"HS256","kid":"k2","typ":"jwt"}"#,
            #"{"alg":"HS256","kid":"k2","typ":"JWT","made-by":{"x":1}}"#, #"{"alg":"HS256","k\u0069d":"k2"}"#,
        ])
    func goodHeaders(header: String) async throws {
        #expect(try await testAuthenticator().present(Forge.token(header: header)) == identity("alice"))
    }

    @Test("A key is invalid before its not-before and from its not-after on, without skew")
    func keyTimes() async throws {
        let keys = """
            keys:
              - { id: k2, algorithm: HS256, secret: "\(Forge.secret())", not-before: 2026-11-21T07:00:00Z, not-after: 2026-11-21T08:00:00Z }
            """
        let token = Forge.token(claims: Forge.claims(["exp": "1795330000"]))
        func answer(_ microseconds: Int64) async throws -> AuthenticationOutcome {
            let now = WallTime(microseconds: WallTime.test.microseconds + microseconds)
            return try await testAuthenticator(PluginContext.test(now: now), keys: keys).present(token)
        }
        #expect(try await answer(-1) == .rejected(.untrusted))
        #expect(try await answer(0) == identity("alice"))
        #expect(try await answer(3_599_999_999) == identity("alice"))
        #expect(try await answer(3_600_000_000) == .rejected(.untrusted))
        #expect(try await answer(3_600_000_001) == .rejected(.untrusted))
    }

    @Test("A key is accepted only for its subjects and groups")
    func boundKeys() async throws {
        let authenticator = try await testAuthenticator()
        let bytes = Forge.bytes + Forge.bytes
        func present(_ key: String, _ offset: Int, _ changes: [String: String]) async -> AuthenticationOutcome {
            await authenticator.present(
                Forge.token(
                    header: "{\"alg\":\"HS256\",\"kid\":\"\(key)\"}", claims: Forge.claims(changes),
                    key: bytes[offset..<offset + 32]))
        }
        #expect(await present("partner", 3, ["sub": "\"svc-a\""]) == identity("svc-a"))
        #expect(await present("partner", 3, ["sub": "\"svc-\""]) == identity("svc-"))
        #expect(await present("partner", 3, ["sub": "\"carol\"", "groups": "[]"]) == identity("carol"))
        #expect(await present("partner", 3, ["sub": "\"carola\""]) == .rejected(.untrusted))
        #expect(await present("partner", 3, ["sub": "\"alice\""]) == .rejected(.untrusted))
        #expect(await present("partner", 3, ["sub": "\"xsvc-a\""]) == .rejected(.untrusted))
        #expect(await present("partner", 3, ["sub": "\"svc-a\"", "groups": #"["x"]"#]) == .rejected(.untrusted))
        #expect(await present("staff", 4, ["groups": #"["sales"]"#]) == identity("alice", groups: ["sales"]))
        #expect(await present("staff", 4, ["groups": #"["sales","root"]"#]) == .rejected(.untrusted))
        #expect(await present("staff", 4, ["groups": #"["Sales"]"#]) == .rejected(.untrusted))
        // A token with one key's id that another of our keys signed is rejected.
        #expect(await present("staff", 3, [:]) == .rejected(.untrusted))
    }

    @Test("A foreign token is left to the next authenticator, if there is one")
    func foreign() async throws {
        let shared = try await testAuthenticator(PluginContext.test(isLastOfItsKind: false))
        let alone = try await testAuthenticator()
        let foreign = Forge.claims(["iss": "\"https://idp.example\""])
        let tokens: [(String, InvalidCredentialReason)] = [
            ("opaque", .malformed), ("a.b.c", .malformed), ("", .malformed),
            (Forge.token(header: #"{"alg":"RS256","kid":"theirs"}"#, claims: foreign), .untrusted),
            (Forge.token(header: #"{"alg":"RS256","kid":"k2"}"#, claims: foreign), .untrusted),
            (Forge.token(claims: foreign, key: Forge.bytes[1..<33]), .untrusted),
        ]
        for (token, reason) in tokens {
            #expect(await shared.present(token) == .notMine)
            #expect(await alone.present(token) == .rejected(reason))
        }
        // Our own invalid tokens are rejected and no other authenticator is queried.
        #expect(await shared.present(Forge.token(key: Forge.bytes[1..<33])) == .rejected(.untrusted))
        #expect(await shared.present(Forge.token(header: #"{"alg":"HS256","kid":"gone"}"#)) == .rejected(.untrusted))
        #expect(await shared.present(Forge.token(claims: foreign)) == .rejected(.untrusted))
        let password = Credential.password(user: LoginName("alice"), password: Secret("x".utf8))
        guard case .notMine = await shared.authenticate(password, from: Peer(address: .local, text: "unix")) else {
            Issue.record("a password is not a token")
            return
        }
    }

    @Test("Subjects follow the identity rules")
    func identityRules() async throws {
        let strip = try await testAuthenticator(PluginContext.test(names: NameRules(suffixes: ["@example.com"])))
        #expect(await strip.present(Forge.token()) == identity("alice"))
        let stripped = Forge.token(claims: Forge.claims(["sub": "\"alice@example.com\""]))
        #expect(await strip.present(stripped) == .rejected(.unmapped))
        let rules = NameRules(escaping: .hex)
        let hex = try await testAuthenticator(PluginContext.test(names: rules))
        for name in ["jürgen", "a_xb", "a b", "plain_name"] {
            let canonical = try #require(rules.canonical(LoginName(name)))
            let token = Forge.token(claims: Forge.claims(["sub": "\"\(canonical)\""]))
            #expect(await hex.present(token) == identity(canonical.text), "\(name)")
        }
        for name in ["a_xb", "a_x41", "a_x62", "a_xff", "a_x", "J\u{FC}rgen"] {
            let token = Forge.token(claims: Forge.claims(["sub": "\"\(name)\""]))
            #expect(await hex.present(token) == .rejected(.unmapped), "\(name)")
        }
    }

    @Test("A reload replaces the keys, and an invalid file keeps them")
    func reloading() async throws {
        let files = try TestFiles()
        let file = try files.write(Forge.keys)
        let made = try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: PluginContext.test())
        let authenticator = try #require(made as? HMACTokenAuthenticator)
        _ = try files.write("keys: []")
        #expect(await authenticator.reload().map(\.message) == ["has no keys"])
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
        _ = try files.write("keys: [{ id: other, algorithm: HS256, secret: \"\(Forge.secret())\" }]")
        // The file may be in the middle of a write: five keys are gone.
        for _ in 0..<6 {
            #expect(await authenticator.reload().map(\.severity) == [.warning])
            #expect(await authenticator.present(Forge.token()) == identity("alice"))
        }
        #expect(await authenticator.reload() == [])
        #expect(await authenticator.present(Forge.token()) == .rejected(.untrusted))
        #expect(
            await authenticator.present(Forge.token(header: #"{"alg":"HS256","kid":"other"}"#)) == identity("alice"))
    }
}
