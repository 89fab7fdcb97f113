import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite struct Base64Tests {
    private func decode(_ text: String, _ variant: Base64.Variant = .standard) -> [UInt8]? {
        Base64.decode(Array(text.utf8).span, variant)
    }

    /// The vectors are those of RFC 4648, section 10.
    @Test(
        "The vectors of RFC 4648 are encoded and decoded",
        arguments: [
            ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ])
    func knownVectors(_ plain: String, _ encoded: String) {
        #expect(decode(encoded) == Array(plain.utf8))
        #expect(Base64.encode(Array(plain.utf8), .standard) == Array(encoded.utf8))
        let bare = encoded.filter { $0 != "=" }
        #expect(decode(bare, .url) == Array(plain.utf8))
        #expect(Base64.encode(Array(plain.utf8), .url) == Array(bare.utf8))
    }

    @Test(
        "Base64 that is not canonical is rejected",
        arguments: [
            "=", "==", "====", "Z", "Zg", "Zg=", "Zg===", "Z===", "Zg==Zg==", "Zm9v=", "Zm9v====", " Zg==", "Zg==\n",
            "Zg = =",
            "Zh==", "Zm9=", "Z-==", "Z_==", "Zg\u{0}=", "Zé==",
        ])
    func base64ThatIsNotCanonicalIsRejected(_ text: String) {
        #expect(decode(text) == nil)
    }

    @Test(
        "Base64url that is not canonical is rejected",
        arguments: ["=", "Z", "Zg==", "Zm9v=", "Zh", "Zm9", "Zm+v", "Zm/v", "Zm9vZ", "Zm9v\n"])
    func base64urlThatIsNotCanonicalIsRejected(_ text: String) {
        #expect(decode(text, .url) == nil)
    }

    /// No two texts decode to one value.
    @Test("Decoding is the inverse of encoding") func decodingIsTheInverseOfEncoding() {
        var random = SplitMix(seed: 3)
        for _ in 0..<3000 {
            let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            for variant in [Base64.Variant.standard, .url] {
                #expect(Base64.decode(Base64.encode(bytes, variant).span, variant) == bytes)
            }
            #expect(
                String(decoding: Base64.encode(bytes, .standard), as: UTF8.self) == Data(bytes).base64EncodedString())
            let alphabet = Array("ABCabc019+/-_=".utf8)
            let text = (0..<Int.random(in: 0...8, using: &random)).map { _ in alphabet.randomElement(using: &random)! }
            for variant in [Base64.Variant.standard, .url] {
                if let bytes = Base64.decode(text.span, variant) { #expect(Base64.encode(bytes, variant) == text) }
            }
        }
    }
}
