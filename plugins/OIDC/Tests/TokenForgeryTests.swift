import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import OIDC

@Suite("Forged oidc tokens")
struct TokenForgeryTests {
    /// Headers that no honest provider writes. The tokens have valid signatures of the key `k1`.
    static let headers = [
        #"{"kid":"k1"}"#, #"{"alg":"","kid":"k1"}"#, #"{"alg":null,"kid":"k1"}"#, #"{"alg":["RS256"],"kid":"k1"}"#,
        #"{"alg":"rs256","kid":"k1"}"#, #"{"alg":"RS256 ","kid":"k1"}"#, #"{"Alg":"RS256","kid":"k1"}"#,
        #"{"alg":"RS384","kid":"k1"}"#, #"{"alg":"PS256","kid":"k1"}"#, #"{"alg":"RSA1_5","kid":"k1"}"#,
        #"{"alg":"RS256","kid":"k1","crit":["exp"]}"#, #"{"alg":"RS256","kid":"k1","crit":[]}"#,
        #"{"alg":"RS256","kid":"k1","CRIT":["b64"],"b64":false}"#, #"{"alg":"RS256","kid":"k1","b64":false}"#,
        #"{"alg":"RS256","kid":"k1","b64":true}"#, #"{"alg":"RS256","kid":"k1","zip":"DEF"}"#,
        #"{"alg":"RS256","kid":"k1","enc":"A128GCM"}"#, #"{"alg":"RS256","kid":"k1","cty":"JWT"}"#,
        #"{"alg":"RS256","kid":"k1","typ":"JWE"}"#, #"{"alg":"RS256","kid":"k1","typ":"logout+jwt"}"#,
        #"{"alg":"RS256","kid":"k1","typ":"dpop+jwt"}"#, #"{"alg":"RS256","kid":"k1","typ":null}"#,
        #"{"alg":"RS256","kid":"k1","typ":["JWT"]}"#, #"{"alg":"RS256","kid":"k1","TYP":"JWE"}"#,
        #"{"alg":"RS256","kid":"k1","typ":"text/JWT"}"#, #"{"alg":"RS256","kid":null}"#, #"{"alg":"RS256","kid":[]}"#,
        #"{"alg":"RS256","kid":""}"#, #"{"alg":"RS256","kid":"\#(String(repeating: "k", count: 257))"}"#,
    ]

    @Test("A header that the gateway does not accept is rejected despite a valid signature", arguments: headers)
    func badHeaders(header: String) async throws {
        #expect(try await testAuthenticator().present(Forge.token(header: header)) == .rejected(.untrusted))
    }

    @Test(
        "A header with an unknown key id is rejected",
        arguments: [
            "K1", "k1 ", "k2", "../../dev/null", "/etc/passwd", "k1\\u0000", "k1' OR 1=1 --", "https://127.0.0.1/k",
            "0",
        ])
    func unknownKeys(id: String) async throws {
        #expect(try await testAuthenticator().present(Forge.token(kid: id)) == .rejected(.untrusted))
    }

    @Test("A header with the usual parameters of providers is accepted")
    func goodHeaders() async throws {
        let authenticator = try await testAuthenticator()
        for header in [
            #"{"alg":"RS256","kid":"k1"}"#, #"{"alg":"RS256","kid":"k1","typ":"at+jwt"}"#,
            #"{"alg":"RS256","kid":"k1","typ":"application/at+JWT"}"#, #"{"alg":"RS256","kid":"k1","typ":"jwt"}"#,
            #"{"alg":"RS256","kid":"k1","typ":"application/jwt","x5t":"AAAA"}"#,
        ] {
            #expect(await authenticator.present(Forge.token(header: header)) == identity("alice"), "\(header)")
        }
        // One key fits, so the id may be absent.
        #expect(await authenticator.present(Forge.token(kid: nil)) == identity("alice"))
    }

    @Test("A key or an address in the header is never used", arguments: ["jwk", "jku", "x5u", "x5c"])
    func ownKeys(_ parameter: String) async throws {
        let server = try await ScriptedServer.start { _ in
            [.write(ScriptedServer.ok(Forge.set([TestKey.otherRSA.jwk("k1")])))]
        }
        let value =
            switch parameter {
            case "jwk": TestKey.otherRSA.jwk("k1")
            case "x5c": "[\"AAAA\"]"
            default: "\"http://127.0.0.1:\(server.port)/keys\""
            }
        let token = Forge.token(header: "{\"alg\":\"RS256\",\"kid\":\"k1\",\"\(parameter)\":\(value)}", key: .otherRSA)
        #expect(try await testAuthenticator().present(token) == .rejected(.untrusted))
        #expect(server.connections == 0)
        await server.stop()
    }

    @Test(
        "A header or claims that are not one JSON object with unique names are malformed",
        arguments: [
            "", "null", "[]", "{", #"{"alg":"RS256","kid":"k1","kid":"k1"}"#,
            #"{"alg":"RS256","ALG":"none","kid":"k1"}"#,
            #"{"alg":"RS256","kid":"k1"}x"#, #"{"alg":"RS256","kid":"\ud800"}"#,
        ])
    func broken(text: String) async throws {
        let authenticator = try await testAuthenticator()
        #expect(await authenticator.present(Forge.token(header: text)) == .rejected(.malformed))
        let claims = text.isEmpty ? "" : Forge.claims().dropLast() + "," + #""sub":"bob"}"#
        #expect(await authenticator.present(Forge.token(claims: String(claims))) == .rejected(.malformed))
    }

    @Test("A token of another key, or with parts of two tokens, is rejected")
    func mixed() async throws {
        let authenticator = try await testAuthenticator()
        #expect(await authenticator.present(Forge.token(key: .otherRSA)) == .rejected(.untrusted))
        let (alice, bob) = (Forge.token(), Forge.token(claims: Forge.claims(["sub": "\"bob\""])))
        let (a, b) = (alice.split(separator: "."), bob.split(separator: "."))
        #expect(await authenticator.present("\(a[0]).\(b[1]).\(a[2])") == .rejected(.untrusted))
        // A second signature, and a JSON serialization.
        #expect(await authenticator.present("\(alice).\(a[2])") == .rejected(.malformed))
        let json = "{\"payload\":\"\(a[1])\",\"protected\":\"\(a[0])\",\"signature\":\"\(a[2])\"}"
        #expect(await authenticator.present(json) == .rejected(.malformed))
    }

    @Test("Another base64url spelling of the same bytes is malformed")
    func otherSpellings() async throws {
        let authenticator = try await testAuthenticator()
        let token = Forge.token()
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(token.last.flatMap { alphabet.firstIndex(of: $0) })
        // 256 bytes leave four bits of the last character unused.
        #expect(await authenticator.present(token.dropLast() + String(alphabet[last | 1])) == .rejected(.malformed))
        #expect(await authenticator.present(token + "==") == .rejected(.malformed))
        let parts = token.split(separator: ".")
        #expect(await authenticator.present("\(parts[0])=.\(parts[1]).\(parts[2])") == .rejected(.malformed))
        #expect(await authenticator.present(parts.joined(separator: "..")) == .rejected(.malformed))
    }

    @Test("A token of 16 KiB is accepted, and a longer, nested or encrypted one is malformed")
    func length() async throws {
        let authenticator = try await testAuthenticator()
        func token(_ padding: Int) -> String {
            Forge.token(claims: Forge.claims(["pad": "\"\(String(repeating: "x", count: padding))\""]))
        }
        let overhead = token(0).utf8.count
        let most = (16_384 - overhead) * 3 / 4
        #expect(token(most).utf8.count > 16_370)
        #expect(await authenticator.present(token(most)) == identity("alice"))
        #expect(await authenticator.present(token(most + 8)) == .rejected(.malformed))
        #expect(await authenticator.present(String(repeating: "A", count: 65_536)) == .rejected(.malformed))
        #expect(await authenticator.present(String(repeating: ".", count: 16_384)) == .rejected(.malformed))
        let deep = String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)
        #expect(await authenticator.present(Forge.token(claims: Forge.claims(["d": deep]))) == .rejected(.malformed))
        let many = "[" + [String](repeating: "1", count: 2000).joined(separator: ",") + "]"
        #expect(await authenticator.present(Forge.token(claims: Forge.claims(["d": many]))) == .rejected(.malformed))
        #expect(await authenticator.present("\(Forge.token()).AA.AA") == .rejected(.malformed))
        // A token as the payload of a token.
        let nested =
            Forge.text(Array(#"{"alg":"RS256","kid":"k1"}"#.utf8)) + "." + Forge.text(Array(Forge.token().utf8))
        let signature = Forge.text(TestKey.rsa.sign(Array(nested.utf8), .rs256))
        #expect(await authenticator.present("\(nested).\(signature)") == .rejected(.malformed))
    }

    @Test("Hostile strings as token and as key id are rejected", .enabled(if: !TestData.naughtyStrings.isEmpty))
    func naughtyStrings() async throws {
        let authenticator = try await testAuthenticator()
        for string in TestData.naughtyStrings {
            #expect(await authenticator.present(string) == .rejected(.malformed), "\(string)")
            var header = Array(#"{"alg":"RS256","kid":"#.utf8)
            JSONWriter.write(string: string, to: &header)
            let token = Forge.token(header: String(decoding: header, as: UTF8.self) + "}")
            #expect(await authenticator.present(token) == .rejected(.untrusted), "\(string)")
        }
    }
}
