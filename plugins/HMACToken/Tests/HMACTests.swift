import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import HMACToken

@Suite("HMAC under tokens")
struct HMACTests {
    @Test("RFC 7515, appendix A.1")
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
        #expect(header.fits(.hs256))
        #expect(!header.fits(.hs384))
        #expect(String(decoding: token.signingInput, as: UTF8.self) == input)
        let tagger = try #require(Tagger(.hs256, secret: Secret(secret)))
        #expect(tagger.tag(over: token.signingInput) == token.tag)
        // A context is used again and again, and keeps nothing of what it saw.
        #expect(tagger.tag(over: Array("other".utf8)) != token.tag)
        #expect(tagger.tag(over: token.signingInput) == token.tag)
    }

    private struct Vectors: Decodable {
        struct Group: Decodable {
            let tagSize: Int
            let tests: [Vector]
        }
        struct Vector: Decodable {
            let tcId: Int
            let key: String
            let msg: String
            let tag: String
            let result: String
        }
        let testGroups: [Group]
    }

    @Test("all vectors of Wycheproof", .enabled(if: TestData.corpus("wycheproof/hmac_sha256_test.json") != nil))
    func wycheproof() throws {
        let file = try #require(TestData.corpus("wycheproof/hmac_sha256_test.json"))
        let vectors = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file))
        var count = 0
        for group in vectors.testGroups {
            for vector in group.tests {
                let tagger = try #require(Tagger(.hs256, secret: Secret(Self.bytes(vector.key))))
                let tag = try #require(tagger.tag(over: Self.bytes(vector.msg))).prefix(group.tagSize / 8)
                let isGood = ConstantTime.equal(Array(tag), Self.bytes(vector.tag))
                #expect(isGood == (vector.result == "valid"), "case \(vector.tcId)")
                count += 1
            }
        }
        #expect(count == 174)
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = hex.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    @Test("many threads at once, each with its own answer")
    func parallel() async throws {
        let tagger = try #require(Tagger(.hs256, secret: Secret(Forge.bytes)))
        let hmac = try #require(HMAC(.sha256, key: Secret(Forge.bytes)))
        let messages = (0..<64).map { [UInt8](repeating: UInt8($0), count: $0 * 7) }
        let expected = try messages.map { try #require(hmac.tag(over: $0)) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    (0..<50).reduce(0) { count, _ in
                        count + zip(messages, expected).filter { tagger.tag(over: $0) != $1 }.count
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
