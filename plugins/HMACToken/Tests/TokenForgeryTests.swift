import GatewayCore
import GatewaySupport
import GatewayTesting
import HMACToken
import Testing

@Suite("Forged tokens")
struct TokenForgeryTests {
    @Test(
        "A header with a forbidden parameter or another algorithm is rejected despite a valid signature",
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
        #expect(try await testAuthenticator().present(Forge.token(header: header)) == .rejected(.untrusted))
    }

    @Test(
        "A header that is not one JSON object is malformed",
        arguments: [
            "", "null", "[]", "{", #"{"alg":"HS256","kid":"k2","kid":"k2"}"#,
            #"{"alg":"HS256","ALG":"none","kid":"k2"}"#,
            #"{"alg":"none","alg":"HS256","kid":"k2"}"#, #"{"alg":"HS256","kid":"k2"}x"#,
            #"{"alg":"HS256","kid":"\ud800"}"#,
        ])
    func brokenHeaders(header: String) async throws {
        #expect(try await testAuthenticator().present(Forge.token(header: header)) == .rejected(.malformed))
    }

    @Test("The algorithm none is rejected without a signature")
    func algNone() async throws {
        let authenticator = try await testAuthenticator()
        for spelling in ["none", "None", "NONE", "nOnE"] {
            let header = Forge.text(Array("{\"alg\":\"\(spelling)\",\"kid\":\"k2\"}".utf8))
            let claims = Forge.text(Array(Forge.claims().utf8))
            #expect(await authenticator.present("\(header).\(claims).") == .rejected(.untrusted))
            #expect(await authenticator.present("\(header).\(claims)") == .rejected(.malformed))
        }
    }

    @Test("A token with one bit changed, or with bytes added or removed, is rejected")
    func tampering() async throws {
        let authenticator = try await testAuthenticator()
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

    @Test("Another base64url spelling of the same bytes is malformed")
    func otherSpellings() async throws {
        let authenticator = try await testAuthenticator()
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

    @Test("A token of 4 KiB is accepted and a longer one is malformed")
    func length() async throws {
        let authenticator = try await testAuthenticator()
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

    @Test("Hostile strings as token and as key id are rejected", .enabled(if: !TestData.naughtyStrings.isEmpty))
    func naughtyStrings() async throws {
        let strings = TestData.naughtyStrings
        #expect(strings.count > 500)
        let authenticator = try await testAuthenticator()
        for string in strings {
            #expect(await authenticator.present(string) == .rejected(.malformed), "\(string)")
            var header = Array(#"{"alg":"HS256","kid":"#.utf8)
            JSONWriter.write(string: string, to: &header)
            let token = Forge.token(header: String(decoding: header, as: UTF8.self) + "}")
            #expect(await authenticator.present(token) == .rejected(.untrusted), "\(string)")
        }
    }
}
