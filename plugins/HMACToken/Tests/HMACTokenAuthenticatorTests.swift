import Foundation
import GatewayCore
import Testing

@testable import HMACToken

@Suite("Tokens presented")
struct HMACTokenAuthenticatorTests {
    private func authenticator(
        _ context: PluginContext = testContext(), keys: String = Forge.keys
    ) async throws -> any Authenticator {
        let files = try TestFiles()
        let file = try files.write(keys)
        return try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: context)
    }

    @Test("a good token of each algorithm")
    func good() async throws {
        let authenticator = try await authenticator()
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
        "claims that are fine",
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
        let answer = try await authenticator().present(Forge.token(claims: Forge.claims(changes)))
        #expect(answer == identity("alice"))
    }

    @Test(
        "claims that are not",
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
        ] as [([String: String], RejectionReason)])
    func badClaims(changes: [String: String], reason: RejectionReason) async throws {
        let answer = try await authenticator().present(Forge.token(claims: Forge.claims(changes)))
        #expect(answer == .rejected(reason), "\(changes)")
    }

    @Test(
        "payloads that are no claims",
        arguments: [
            "", "null", "[]", "\"x\"", "{", "{}", "{}{}", Forge.claims() + "x",
            "{\"sub\":\"bob\"," + Forge.claims().dropFirst(), "{\"SUB\":\"bob\"," + Forge.claims().dropFirst(),
            "{\"Exp\":9999999999," + Forge.claims().dropFirst(),
        ])
    func badPayloads(payload: String) async throws {
        #expect(try await authenticator().present(Forge.token(claims: payload)) == .rejected(.malformed))
    }

    @Test(
        "headers that a tag cannot save",
        arguments: [
            #"{"alg":"none","kid":"k2"}"#, #"{"alg":"None","kid":"k2"}"#, #"{"alg":"NONE","kid":"k2"}"#,
            #"{"alg":"nOnE","kid":"k2"}"#, #"{"alg":"","kid":"k2"}"#, #"{"alg":null,"kid":"k2"}"#, #"{"kid":"k2"}"#,
            #"{"alg":"hs256","kid":"k2"}"#, #"{"alg":"HS256 ","kid":"k2"}"#, #"{"alg":["HS256"],"kid":"k2"}"#,
            #"{"Alg":"HS256","kid":"k2"}"#, #"{"alg":"HS384","kid":"k2"}"#, #"{"alg":"HS512","kid":"k2"}"#,
            #"{"alg":"RS256","kid":"k2"}"#, #"{"alg":"ES256","kid":"k2"}"#, #"{"alg":"HS256","kid":"k384"}"#,
            #"{"alg":"HS256"}"#, #"{"alg":"HS256","kid":""}"#, #"{"alg":"HS256","kid":null}"#,
            #"{"alg":"HS256","kid":["k2"]}"#, #"{"alg":"HS256","KID":"k2"}"#, #"{"alg":"HS256","kid":"K2"}"#,
            #"{"alg":"HS256","kid":"../../dev/null"}"#, #"{"alg":"HS256","kid":"/etc/passwd"}"#,
            #"{"alg":"HS256","kid":"k2\u0000"}"#, #"{"alg":"HS256","kid":"k2' OR 1=1"}"#,
            #"{"alg":"HS256","kid":"k2","crit":["exp"]}"#, #"{"alg":"HS256","kid":"k2","crit":[]}"#,
            #"{"alg":"HS256","kid":"k2","CRIT":["b64"],"b64":false}"#, #"{"alg":"HS256","kid":"k2","b64":false}"#,
            #"{"alg":"HS256","kid":"k2","jwk":{"kty":"oct","k":"AAAA"}}"#,
            #"{"alg":"HS256","kid":"k2","jku":"https://127.0.0.1/keys"}"#,
            #"{"alg":"HS256","kid":"k2","x5u":"https://127.0.0.1/keys"}"#,
            #"{"alg":"HS256","kid":"k2","x5c":["AAAA"]}"#,
            #"{"alg":"HS256","kid":"k2","zip":"DEF"}"#, #"{"alg":"HS256","kid":"k2","typ":"JWE"}"#,
            #"{"alg":"HS256","kid":"k2","typ":null}"#, #"{"alg":"HS256","kid":"k2","TYP":"JWT"}"#,
        ])
    func badHeaders(header: String) async throws {
        #expect(try await authenticator().present(Forge.token(header: header)) == .rejected(.untrusted))
    }

    @Test(
        "headers that are none",
        arguments: [
            "", "null", "[]", "{", #"{"alg":"HS256","kid":"k2","kid":"k2"}"#,
            #"{"alg":"HS256","ALG":"none","kid":"k2"}"#,
            #"{"alg":"none","alg":"HS256","kid":"k2"}"#, #"{"alg":"HS256","kid":"k2"}x"#,
            #"{"alg":"HS256","kid":"\ud800"}"#,
        ])
    func brokenHeaders(header: String) async throws {
        #expect(try await authenticator().present(Forge.token(header: header)) == .rejected(.malformed))
    }

    @Test("alg none with no tag, and with the key's tag")
    func algNone() async throws {
        let authenticator = try await authenticator()
        for spelling in ["none", "None", "NONE", "nOnE"] {
            let header = Forge.text(Array("{\"alg\":\"\(spelling)\",\"kid\":\"k2\"}".utf8))
            let claims = Forge.text(Array(Forge.claims().utf8))
            #expect(await authenticator.present("\(header).\(claims).") == .rejected(.untrusted))
            #expect(await authenticator.present("\(header).\(claims)") == .rejected(.malformed))
        }
    }

    @Test("no bit of a token can be turned, and none be added or lost")
    func tampering() async throws {
        let authenticator = try await authenticator()
        let token = Forge.token()
        let good = Array(token.utf8)
        #expect(await authenticator.present(token) == identity("alice"))
        for index in good.indices {
            for bit in 0..<7 {
                var bad = good
                bad[index] ^= 1 << UInt8(bit)
                let answer = await authenticator.present(String(decoding: bad, as: UTF8.self))
                #expect([.rejected(.untrusted), .rejected(.malformed)].contains(answer), "bit \(bit) of byte \(index)")
            }
        }
        for count in 1..<44 {
            let answer = await authenticator.present(String(token.dropLast(count)))
            #expect([.rejected(.untrusted), .rejected(.malformed)].contains(answer), "\(count) bytes fewer")
        }
        for more in ["A", "AA", "AAAA", "=", ".", "..", " ", "\n", "\u{0}", "%00"] {
            let answer = await authenticator.present(token + more)
            #expect([.rejected(.untrusted), .rejected(.malformed)].contains(answer), "\(more) behind")
            #expect(await authenticator.present(more + token) != identity("alice"), "\(more) before")
        }
    }

    @Test("base64url in another spelling of the same bytes")
    func otherSpellings() async throws {
        let authenticator = try await authenticator()
        let token = Forge.token()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(token.last.flatMap { alphabet.firstIndex(of: $0) })
        // 32 bytes leave two bits of the last character unused.
        #expect(await authenticator.present(token.dropLast() + String(alphabet[last | 1])) == .rejected(.malformed))
        #expect(
            await authenticator.present(token.replacing("-", with: "+").replacing("_", with: "/") + "=")
                == .rejected(.malformed))
        let parts = token.split(separator: ".")
        #expect(await authenticator.present("\(parts[0])=.\(parts[1]).\(parts[2])") == .rejected(.malformed))
        #expect(await authenticator.present(parts.joined(separator: "..")) == .rejected(.malformed))
    }

    @Test("keys that stand for some subjects and groups only")
    func boundKeys() async throws {
        let authenticator = try await authenticator()
        let bytes = Forge.bytes + Forge.bytes
        func present(_ key: String, _ offset: Int, _ changes: [String: String]) async -> Answer {
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
        // A key of ours is no other key of ours.
        #expect(await present("staff", 3, [:]) == .rejected(.untrusted))
    }

    @Test("a key is none before its time, and none from its end on, without any skew")
    func keyTimes() async throws {
        let keys = """
            keys:
              - { id: k2, algorithm: HS256, secret: "\(Forge.secret())", not-before: 2026-11-21T07:00:00Z, not-after: 2026-11-21T08:00:00Z }
            """
        let token = Forge.token(claims: Forge.claims(["exp": "1795330000"]))
        func answer(_ microseconds: Int64) async throws -> Answer {
            let now = WallTime(microseconds: testNow.microseconds + microseconds)
            return try await authenticator(testContext(now: now), keys: keys).present(token)
        }
        #expect(try await answer(-1) == .rejected(.untrusted))
        #expect(try await answer(0) == identity("alice"))
        #expect(try await answer(3_599_999_999) == identity("alice"))
        #expect(try await answer(3_600_000_000) == .rejected(.untrusted))
        #expect(try await answer(3_600_000_001) == .rejected(.untrusted))
    }

    @Test("what is not ours goes to the next authenticator, if there is one")
    func foreign() async throws {
        let shared = try await authenticator(testContext(isLastOfItsKind: false))
        let alone = try await authenticator()
        let foreign = Forge.claims(["iss": "\"https://idp.example\""])
        let tokens: [(String, RejectionReason)] = [
            ("opaque", .malformed), ("a.b.c", .malformed), ("", .malformed),
            (Forge.token(header: #"{"alg":"RS256","kid":"theirs"}"#, claims: foreign), .untrusted),
            (Forge.token(header: #"{"alg":"RS256","kid":"k2"}"#, claims: foreign), .untrusted),
            (Forge.token(claims: foreign, key: Forge.bytes[1..<33]), .untrusted),
        ]
        for (token, reason) in tokens {
            #expect(await shared.present(token) == .notMine)
            #expect(await alone.present(token) == .rejected(reason))
        }
        // Ours, and bad: nobody else is asked.
        #expect(await shared.present(Forge.token(key: Forge.bytes[1..<33])) == .rejected(.untrusted))
        #expect(await shared.present(Forge.token(header: #"{"alg":"HS256","kid":"gone"}"#)) == .rejected(.untrusted))
        #expect(await shared.present(Forge.token(claims: foreign)) == .rejected(.untrusted))
        let password = Credential.password(user: LoginName("alice"), password: Secret("x".utf8))
        guard case .notMine = await shared.authenticate(password, from: Peer(address: .local, text: "unix")) else {
            Issue.record("a password is not a token")
            return
        }
    }

    @Test("subjects under identity rules")
    func identityRules() async throws {
        let strip = try await authenticator(testContext(names: NameRules(suffixes: ["@example.com"])))
        #expect(await strip.present(Forge.token()) == identity("alice"))
        let stripped = Forge.token(claims: Forge.claims(["sub": "\"alice@example.com\""]))
        #expect(await strip.present(stripped) == .rejected(.unmapped))
        let rules = NameRules(escaping: .hex)
        let hex = try await authenticator(testContext(names: rules))
        for name in ["jürgen", "a_xb", "a b", "plain_name"] {
            let canonical = try #require(rules.canonical(name))
            let token = Forge.token(claims: Forge.claims(["sub": "\"\(canonical)\""]))
            #expect(await hex.present(token) == identity(canonical.text), "\(name)")
        }
        for name in ["a_xb", "a_x41", "a_x62", "a_xff", "a_x", "J\u{FC}rgen"] {
            let token = Forge.token(claims: Forge.claims(["sub": "\"\(name)\""]))
            #expect(await hex.present(token) == .rejected(.unmapped), "\(name)")
        }
    }

    @Test("4 KiB and not a byte more")
    func length() async throws {
        let authenticator = try await authenticator()
        func token(_ padding: Int) -> String {
            Forge.token(claims: Forge.claims(["pad": "\"\(String(repeating: "x", count: padding))\""]))
        }
        let most = try #require((2700...3072).last { token($0).utf8.count <= 4096 })
        #expect(token(most).utf8.count > 4090)
        #expect(await authenticator.present(token(most)) == identity("alice"))
        #expect(await authenticator.present(token(most + 4)) == .rejected(.malformed))
        #expect(await authenticator.present(String(repeating: "A", count: 65_536)) == .rejected(.malformed))
        let deep = String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)
        #expect(await authenticator.present(Forge.token(claims: Forge.claims(["d": deep]))) == .rejected(.malformed))
    }

    @Test("reloading swaps the keys, and a broken file keeps them")
    func reloading() async throws {
        let files = try TestFiles()
        let file = try files.write(Forge.keys)
        let made = try await HMACTokenPlugin.makeAuthenticator(.init(keys: file), context: testContext())
        let authenticator = try #require(made as? HMACTokenAuthenticator)
        _ = try files.write("keys: []")
        #expect(await authenticator.reload().map(\.message) == ["has no keys"])
        #expect(await authenticator.present(Forge.token()) == identity("alice"))
        _ = try files.write("keys: [{ id: other, algorithm: HS256, secret: \"\(Forge.secret())\" }]")
        #expect(await authenticator.reload() == [])
        #expect(await authenticator.present(Forge.token()) == .rejected(.untrusted))
        #expect(
            await authenticator.present(Forge.token(header: #"{"alg":"HS256","kid":"other"}"#)) == identity("alice"))
    }

    @Test("hostile strings as token and as key id", .enabled(if: Corpora.file("blns.json") != nil))
    func naughtyStrings() async throws {
        let data = try Data(contentsOf: try #require(Corpora.file("blns.json")))
        let strings = try JSONDecoder().decode([String].self, from: data)
        #expect(strings.count > 500)
        let authenticator = try await authenticator()
        for string in strings {
            #expect(await authenticator.present(string) == .rejected(.malformed), "\(string)")
            var header = Array(#"{"alg":"HS256","kid":"#.utf8)
            JSONWriter.write(string: string, to: &header)
            let token = Forge.token(header: String(decoding: header, as: UTF8.self) + "}")
            #expect(await authenticator.present(token) == .rejected(.untrusted), "\(string)")
        }
    }
}
