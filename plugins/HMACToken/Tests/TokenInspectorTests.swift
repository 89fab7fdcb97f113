import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Testing

@Suite("Inspection of tokens")
struct TokenInspectorTests {
    /// One token for each fault, at the time of the tests.
    private static let faulty: [(String, TokenValidationError)] = [
        ("", .malformed), ("a.b", .malformed), ("a.b.c.d", .malformed), (Forge.token() + "=", .malformed),
        (String(repeating: "A", count: 4097) + "..", .malformed), ("\u{0}.\u{0}.", .unreadableHeader),
        (Forge.token(header: "[]"), .unreadableHeader), ("e30=." + "e30.", .unreadableHeader),
        (Forge.token(header: #"{"alg":"HS256"}"#), .missingKeyID), ("e30.e30.", .missingKeyID),
        (Forge.token(header: #"{"alg":"HS256","kid":"k9"}"#), .unknownKey("k9")),
        (Forge.token(header: #"{"alg":"none","kid":"k2"}"#), .unacceptableHeader(key: "k2")),
        (Forge.token(header: #"{"alg":"HS256","kid":"k2","crit":[]}"#), .unacceptableHeader(key: "k2")),
        (Forge.token(header: #"{"alg":"HS256","kid":"expired"}"#), .keyNotValid(key: "expired")),
        (Forge.token(header: #"{"alg":"HS256","kid":"pending"}"#), .keyNotValid(key: "pending")),
        (Forge.token(key: Forge.bytes[1..<33]), .wrongSignature(key: "k2")),
        (Forge.token(claims: "[]"), .unreadableClaims),
        (Forge.token(claims: Forge.claims(["jti": ""])), .unreadableClaims),
        (Forge.token(claims: Forge.claims(["iss": "\"x\""])), .issuerMismatch(configured: "notify-gateway")),
        (Forge.token(claims: Forge.claims(["aud": "\"x\""])), .audienceMismatch(configured: "notify")),
        (Forge.token(claims: Forge.claims(["exp": "1795244400"])), .lifetime),
        (Forge.token(claims: Forge.claims(["exp": "1795849201"])), .lifetime),
        (Forge.token(claims: Forge.claims(["iat": "1795240000", "exp": "1795240001"])), .expired),
        (Forge.token(claims: Forge.claims(["nbf": "1795244461"])), .notYetValid),
        (Forge.token(claims: Forge.claims(["sub": "\"Alice\""])), .unmapped),
        (partner(Forge.claims()), .keyNotAuthorized(key: "partner")),
        (Forge.token(claims: Forge.claims(["sid": "\"../x\""])), .invalidSessionID),
    ]

    private static func partner(_ claims: String) -> String {
        let bytes = Forge.bytes + Forge.bytes
        return Forge.token(header: #"{"alg":"HS256","kid":"partner"}"#, claims: claims, key: bytes[3..<35])
    }

    private static let keys = """
        \(Forge.keys)
          - { id: expired, algorithm: HS256, secret: "\(Forge.secret(32, offset: 5))", not-after: 2026-11-21T07:00:00Z }
          - { id: pending, algorithm: HS256, secret: "\(Forge.secret(32, offset: 6))", not-before: 2026-11-21T07:00:01Z }
        """

    private func inspect(_ token: String, _ context: PluginContext = .test()) async throws -> TokenInspection? {
        let authenticator = try await testAuthenticator(context, keys: Self.keys)
        let inspecting = try #require(authenticator as? any InspectingAuthenticator)
        return await inspecting.inspect(Secret(token.utf8))
    }

    @Test("A valid token is shown as written, with the identity that it proves")
    func good() async throws {
        let token = Forge.token(claims: Forge.claims(["groups": #"["dispatch"]"#, "more": "{}"]))
        let inspection = try #require(try await inspect(token))
        guard case .valid(let identity) = inspection.result else {
            Issue.record("\(inspection.result)")
            return
        }
        #expect(identity.user.text == "alice")
        #expect(identity.groups.map(\.text) == ["dispatch"])
        #expect(inspection.header?["kid"]?.string == "k2")
        #expect(inspection.claims?["more"] == .object([]))
    }

    @Test("Each fault is reported by its own case")
    func faults() async throws {
        for (token, fault) in Self.faulty {
            let inspection = try await inspect(token)
            #expect(
                inspection?.result == .invalid(fault.reason, detail: fault.description), "\(token.prefix(60))")
            #expect(!fault.description.isEmpty)
        }
        // The content of an invalid token is still shown.
        #expect(try await inspect(Forge.token(key: Forge.bytes[1..<33]))?.claims?["sub"]?.string == "alice")
    }

    @Test("A token that may belong to a later authenticator is not inspected")
    func others() async throws {
        let context = PluginContext.test(isLastOfItsKind: false)
        let other = Forge.token(claims: Forge.claims(["iss": "\"other\""]), key: Forge.bytes[1..<33])
        #expect(try await inspect("x", context) == nil)
        #expect(try await inspect(other, context) == nil)
        #expect(try await inspect(Forge.token(key: Forge.bytes[1..<33]), context) != nil)
    }

    @Test("The authenticator rejects each faulty token with the same reason")
    func agreement() async throws {
        let authenticator = try await testAuthenticator(keys: Self.keys)
        for (token, fault) in Self.faulty {
            #expect(await authenticator.present(token) == .rejected(fault.reason), "\(fault)")
        }
    }

    @Test("A token that no configured key signed is foreign only if it names another issuer")
    func foreign() async throws {
        let authenticator = try await testAuthenticator(.test(isLastOfItsKind: false), keys: Self.keys)
        let other = Forge.claims(["iss": "\"other\""])
        func answer(
            _ header: String, _ claims: String, _ key: ArraySlice<UInt8> = Forge.bytes[1..<33]
        ) async
            -> AuthenticationOutcome
        { await authenticator.present(Forge.token(header: header, claims: claims, key: key)) }
        let (known, unknown) = (#"{"alg":"HS256","kid":"k2"}"#, #"{"alg":"HS256","kid":"k9"}"#)
        #expect(await answer(known, other) == .notMine)
        #expect(await answer(unknown, other) == .notMine)
        #expect(await answer(known, Forge.claims()) == .rejected(.untrusted))
        #expect(await answer(unknown, Forge.claims()) == .rejected(.untrusted))
        #expect(await answer(known, "{}") == .rejected(.untrusted))
        #expect(await answer(unknown, "{}") == .notMine)
        // A valid signature makes the token ours, whatever issuer it names.
        #expect(await answer(known, other, Forge.bytes[0..<32]) == .rejected(.untrusted))
    }

    @Test("The state of each key is signs, verifies, pending or expired")
    func statuses() throws {
        let files = try TestFiles()
        let file = try TokenKeysFile.load(try files.write(Self.keys))
        #expect(file.signingKey(at: .test)?.id == "k2")
        #expect(
            file.statuses(at: .test).map { "\($0.key.id) \($0.status.rawValue)" } == [
                "k2 signs", "k384 verifies", "k512 verifies", "partner verifies", "staff verifies", "expired expired",
                "pending pending",
            ])
    }
}
