import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import HMACToken

@Suite("HMAC of tokens")
struct HMACTests {
    @Test("The example of RFC 7515, appendix A.1, verifies")
    func rfc7515() throws {
        let input =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9"
            + ".eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
        let tag = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
        let decoded = Base64.decode(Array(key.utf8).span, .url)
        let secret = try #require(decoded)
        let parsed = CompactToken(Array("\(input).\(tag)".utf8).span)
        let token = try #require(parsed)
        let header = try #require(token.header())
        #expect(header.isAcceptable(for: .hs256))
        #expect(!header.isAcceptable(for: .hs384))
        #expect(String(decoding: token.signingInput, as: UTF8.self) == input)
        let hmac = try #require(SharedHMAC(.sha256, key: Secret(secret)))
        #expect(hmac.tag(over: token.signingInput) == token.signature)
        // The context is reused, so it must keep no state of the message before.
        #expect(hmac.tag(over: Array("other".utf8)) != token.signature)
        #expect(hmac.tag(over: token.signingInput) == token.signature)
    }
}
