import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite struct DigestTests {
    private func hex(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.utf8.count, by: 2).map { offset in
            UInt8(text.dropFirst(offset).prefix(2), radix: 16)!
        }
    }

    @Test("A digest of parts equals that of the whole", arguments: [0, 1, 63, 64, 65, 1000]) func parts(
        size: Int
    ) throws {
        let bytes = (0..<2000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let digest = try #require(SHA256.Accumulator())
        #expect(bytes[..<size].withUnsafeBytes(digest.add))
        #expect(bytes[size...].withUnsafeBytes(digest.add))
        #expect(digest.finish()?.bytes == SHA256.digest(bytes))
    }

    /// The vectors are the examples of FIPS 180-4.
    @Test("SHA-256 digests agree with FIPS 180-4") func sha256() {
        #expect(
            SHA256.digest([])
                == hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))
        #expect(
            SHA256.digest(Array("abc".utf8))
                == hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
        #expect(
            SHA256.digest([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
                == hex("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"))
    }

    @Test("Threads compute digests at the same time, each also after another text")
    func sha256OnThreads() {
        let texts = (0..<64).map { Array("text \($0)".utf8) }
        let expected = texts.map { SHA256.digest($0) }
        DispatchQueue.concurrentPerform(iterations: 1000) { number in
            #expect(SHA256.digest(texts[number % 64]) == expected[number % 64])
        }
        #expect(Set(expected).count == 64)
    }

    @Test("A digest is formatted as hexadecimal digits")
    func digits() throws {
        let digest = try #require(([1, 2, 3] as [UInt8]).withUnsafeBytes { SHA256.Digest(of: $0) })
        #expect(
            digest.hexDigits == Array("039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81".utf8))
        #expect(hex(String(decoding: digest.hexDigits, as: UTF8.self)) == digest.bytes)
        #expect(SHA256.Digest.zero.hexDigits == [UInt8](repeating: 0x30, count: 64))
    }

    /// The vectors are test cases 1, 2, 6 and 7 of RFC 4231: a short key, a key shorter than the tag, and one longer
    /// than the block.
    @Test("HMAC tags agree with RFC 4231") func hmac() throws {
        let long = [UInt8](repeating: 0xAA, count: 131)
        let cases: [([UInt8], [UInt8], String, String, String)] = [
            (
                [UInt8](repeating: 0x0B, count: 20), Array("Hi There".utf8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59cfaea9ea9076ede7f4af152e8b2fa9cb6",
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4"
                    + "be9d914eeb61f1702e696c203a126854"
            ),
            (
                Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd"
                    + "caeab1a34d4a6b4b636e070a38bce737"
            ),
            (
                long, Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c60c2ef6ab4030fe8296248df163f44952",
                "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e52"
                    + "95e64f73f63f0aec8b915a985d786598"
            ),
        ]
        for (key, message, sha256, sha384, sha512) in cases {
            for (algorithm, expected) in [(HMAC.Algorithm.sha256, sha256), (.sha384, sha384), (.sha512, sha512)] {
                let hmac = try #require(HMAC(algorithm, key: Secret(key)))
                // The second tag is over parts. It shows that the context restarts for each tag.
                #expect(hmac.tag(over: message) == hex(expected))
                #expect(hmac.tag(over: Array(message.prefix(3)), Array(message.dropFirst(3)), []) == hex(expected))
                #expect(hex(expected).count == algorithm.byteCount)
            }
        }
    }

    @Test("A keyed digest is the first half of an HMAC over the lengths and the parts")
    func keyedDigestsAreHalvesOfHMACs() throws {
        let key = Secret([UInt8](repeating: 7, count: 32))
        let digester = KeyedDigester(key: key)
        let hmac = try #require(HMAC(.sha256, key: key))
        let expected = try #require(hmac.tag(over: [0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 3]))
        let digest = try #require(digester.digest([1, 2], [3]))
        #expect(digest.bytes == Array(expected.prefix(16)))
        #expect([UInt8](expecting: 32) { digest.write(to: &$0) } == Array(String(hexEncoding: digest.bytes).utf8))
        // Another split of the same bytes gives another digest.
        let others = [digester.digest([1], [2, 3]), digester.digest([1, 2, 3]), digester.digest([1, 2], [3], [])]
        #expect(!others.contains(digest))
        #expect(Set(others).count == 3)
        #expect(KeyedDigest([1, 2, 3]) == nil)
        #expect(KeyedDigest(digest.bytes) == digest)
        let digits = String(hexEncoding: digest.bytes)
        #expect(KeyedDigest(hexDigits: digits.utf8) == digest)
        for text in ["", String(digits.dropLast()), digits + "0", digits.dropLast() + "g", digits.dropLast() + "é"] {
            #expect(KeyedDigest(hexDigits: text.utf8) == nil, "\(text)")
        }
        #expect(KeyedDigester(key: Secret([UInt8](repeating: 8, count: 32))).digest([1, 2], [3]) != digest)
    }

    @Test("Two texts are digested like two parts") func twoTexts() {
        let digester = KeyedDigester(key: Secret([UInt8](repeating: 7, count: 32)))
        for (first, second) in [
            ("", ""), ("alice", "h\u{e9}"), ("al", "iceh\u{e9}"), (String(repeating: "x", count: 5000), "y"),
        ] {
            #expect(digester.digest(ofTexts: first, second) == digester.digest(Array(first.utf8), Array(second.utf8)))
        }
    }

    @Test("A secret is digested like any other part") func aSecretIsDigestedLikeAnyOtherPart() {
        let digester = KeyedDigester(key: Secret([UInt8](repeating: 7, count: 32)))
        for secret in [[], [9], [UInt8](repeating: 3, count: 5000)] as [[UInt8]] {
            #expect(digester.digest([1, 2], [3], secret: Secret(secret)) == digester.digest([1, 2], [3], secret))
        }
    }

    @Test("An empty key is a valid key") func anEmptyKeyIsAValidKey() throws {
        let hmac = try #require(HMAC(.sha256, key: Secret([])))
        #expect(hmac.tag() == hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    }

    @Test("Byte sequences are compared for content and length") func comparison() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2], [1, 2]))
        #expect(!ConstantTime.equal([1, 2], [1, 3]))
        #expect(!ConstantTime.equal([1, 2], [1, 2, 0]))
        #expect(!ConstantTime.equal([], [0]))
    }
}

/// The vectors of Wycheproof (C2SP, Apache-2.0). The suite needs the corpus beside the package.
@Suite(.enabled(if: TestData.wycheproof != nil, "Wycheproof's vectors are not beside the package"))
struct WycheproofTests {
    private struct File: Decodable {
        struct Group: Decodable {
            struct Case: Decodable {
                var tcId: Int
                var key: String
                var msg: String
                var tag: String
                var result: String
            }
            var tagSize: Int
            var tests: [Case]
        }
        var testGroups: [Group]
    }

    @Test("HMAC-SHA-256 agrees with Wycheproof") func hmacSHA256() throws {
        let file = try JSONDecoder().decode(File.self, from: try #require(TestData.wycheproof))
        func bytes(_ hex: String) -> [UInt8] {
            stride(from: 0, to: hex.utf8.count, by: 2).map { UInt8(hex.dropFirst($0).prefix(2), radix: 16)! }
        }
        var seen = 0
        for group in file.testGroups {
            for vector in group.tests {
                let hmac = try #require(SharedHMAC(.sha256, key: Secret(bytes(vector.key))))
                let tag = try #require(hmac.tag(over: bytes(vector.msg)))
                let agrees = Array(tag.prefix(group.tagSize / 8)) == bytes(vector.tag)
                #expect(agrees == (vector.result == "valid"), "case \(vector.tcId)")
                seen += 1
            }
        }
        #expect(seen > 100)
    }
}

@Suite struct SharedHMACTests {
    @Test("Many threads share one HMAC and get correct tags")
    func manyThreadsShareOneHMACAndGetCorrectTags() async throws {
        let key = Secret((0..<32).map { UInt8($0) })
        let shared = try #require(SharedHMAC(.sha256, key: key))
        let alone = try #require(HMAC(.sha256, key: key))
        let messages = (0..<64).map { [UInt8](repeating: UInt8($0), count: $0 * 7) }
        let expected = try messages.map { try #require(alone.tag(over: $0)) }
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    (0..<50).reduce(0) { count, _ in
                        count + zip(messages, expected).filter { shared.tag(over: $0) != $1 }.count
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
