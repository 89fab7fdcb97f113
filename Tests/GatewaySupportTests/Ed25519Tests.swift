import GatewaySupport
import Testing

@Suite("Ed25519")
struct Ed25519Tests {
    private static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.utf8.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }

    /// The vectors are tests 1 to 3 of RFC 8032, section 7.1.
    private static let vectors = [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                + "d25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c"
                + "387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc659"
                + "4a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test("Signatures agree with RFC 8032", arguments: [0, 1, 2])
    func examples(index: Int) throws {
        let (seed, publicKey, message, signature) = Self.vectors[index]
        let key = try #require(Ed25519.PrivateKey(seed: Secret(Self.bytes(seed))))
        #expect(key.publicKey.bytes == Self.bytes(publicKey))
        #expect(key.signature(of: Self.bytes(message)) == Self.bytes(signature))
        #expect(key.publicKey.verifies(Self.bytes(signature), of: Self.bytes(message)))
    }

    @Test("A signature is rejected for another message or key, and after a change or truncation")
    func rejections() throws {
        let key = try #require(Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: 32))))
        let other = try #require(Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 2, count: 32))))
        let signature = try #require(key.signature(of: [1, 2, 3]))
        #expect(!key.publicKey.verifies(signature, of: [1, 2, 4]))
        #expect(!other.publicKey.verifies(signature, of: [1, 2, 3]))
        #expect(!key.publicKey.verifies(Array(signature.dropLast()), of: [1, 2, 3]))
        #expect(!key.publicKey.verifies([], of: [1, 2, 3]))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 0x40
            #expect(!key.publicKey.verifies(changed, of: [1, 2, 3]))
        }
        #expect(
            try #require(Ed25519.PublicKey([UInt8](repeating: 0xFF, count: 32))).verifies(signature, of: []) == false)
    }

    @Test("A key of another length is rejected, and a public key's text is parsed back")
    func keys() throws {
        for length in [0, 31, 33, 64] {
            #expect(Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: length))) == nil)
            #expect(Ed25519.PublicKey([UInt8](repeating: 1, count: length)) == nil)
        }
        let key = try #require(Ed25519.PrivateKey(seed: Secret([UInt8](repeating: 1, count: 32)))).publicKey
        #expect(key.text.utf8.count == 44)
        #expect(Ed25519.PublicKey(text: key.text) == key)
        #expect(Ed25519.PublicKey(text: "nonsense") == nil)
    }
}
