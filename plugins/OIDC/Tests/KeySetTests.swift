import GatewaySupport
import Testing

@testable import OIDC

@Suite("Key sets of oidc")
struct KeySetTests {
    private static func reasons(_ keys: [String]) throws -> [SkippedKey.Reason] {
        try KeySet(Array(Forge.set(keys).utf8)).skipped.map(\.reason)
    }

    private static func isKnown(_ set: KeySet, _ id: String?, _ algorithm: SignatureAlgorithm) -> Bool {
        if case .key = set.select(id, for: algorithm) { true } else { false }
    }

    @Test("Keys of the supported kinds are used, and keys of other kinds are skipped")
    func kinds() throws {
        let set = try KeySet(
            Array(
                Forge.set([
                    TestKey.rsa.jwk("rsa", ["use": "sig", "x5c": "[\"AAAA\"]", "x5t": "AAAA"]),
                    TestKey.p256.jwk("p256", ["key_ops": "[\"verify\"]"]), TestKey.p384.jwk("p384", ["alg": "ES384"]),
                    TestKey.ed25519.jwk("ed"), #"{"kty":"oct","k":"AAAA","kid":"hmac"}"#,
                    #"{"kty":"EC","crv":"secp256k1","x":"AA","y":"AA","kid":"k"}"#,
                    #"{"kty":"OKP","crv":"X25519","x":"AA"}"#, #"{"kty":"new","kid":"n"}"#,
                    TestKey.otherRSA.jwk("enc", ["use": "enc"]), TestKey.otherRSA.jwk("oaep", ["alg": "RSA-OAEP"]),
                    TestKey.otherRSA.jwk("wrap", ["key_ops": "[\"wrapKey\"]"]),
                ]).utf8))
        #expect(set.keys.map(\.id) == ["rsa", "p256", "p384", "ed"])
        #expect(set.skipped.count == 7)
        #expect(set.skipped.allSatisfy { !$0.isMistake })
        #expect(Self.isKnown(set, "rsa", .rs256) && Self.isKnown(set, "rsa", .ps512))
        #expect(!Self.isKnown(set, "rsa", .es256) && !Self.isKnown(set, "p256", .es384))
    }

    @Test(
        "An RSA key that is too short, too long or has an unsafe exponent is not used",
        arguments: [
            ["e": "AQ"], ["e": "AA"], ["e": ""], ["e": "Ag"], ["e": "AQAA"], ["e": "AQABAQABAQABAQAB"], ["n": "AQAB"],
            ["n": Forge.text([UInt8](repeating: 0xFF, count: 64))],
            ["n": Forge.text([UInt8](repeating: 0xFF, count: 1025))],
            ["n": Forge.text([0x7F] + [UInt8](repeating: 0xFF, count: 255))],
            ["n": Forge.text([UInt8](repeating: 0xFF, count: 255) + [0xFE])], ["n": ""], ["n": "not base64!"],
            ["n": "AQAB="],
        ])
    func weakRSA(_ changes: [String: String]) throws {
        let reasons = try Self.reasons([TestKey.rsa.jwk("k", changes)])
        #expect(reasons == [.unsafe] || reasons == [.malformed])
    }

    @Test("An RSA key of 1024 bits is not used, and leading zeros do not lengthen it")
    func shortRSA() throws {
        let padded = Forge.text([UInt8](repeating: 0, count: 200) + TestKey.shortRSA.modulus)
        #expect(
            try Self.reasons([TestKey.shortRSA.jwk("k"), TestKey.shortRSA.jwk("l", ["n": padded])]) == [
                .unsafe, .unsafe,
            ])
        let zero = Forge.text([0] + TestKey.rsa.modulus)
        #expect(try Self.reasons([TestKey.rsa.jwk("k", ["n": zero])]) == [])
    }

    @Test("A point that is not on its curve, and one of small order, are not used")
    func weakCurves() throws {
        let bytes32 = Forge.text([UInt8](repeating: 1, count: 32))
        let zero = Forge.text([UInt8](repeating: 0, count: 32))
        for changes in [
            ["x": bytes32], ["x": zero, "y": zero], ["x": "AA"], ["y": Forge.text([UInt8](repeating: 1, count: 33))],
        ] {
            #expect(try Self.reasons([TestKey.p256.jwk("k", changes)]) == [.unsafe], "\(changes)")
        }
        #expect(try Self.reasons([TestKey.p256.jwk("k", ["crv": "P-384"])]) == [.unsafe])
        let one: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        let minusOne: [UInt8] = [0xEC] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let prime: [UInt8] = [0xED] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let eighth: [UInt8] = [
            0xC7, 0x17, 0x6A, 0x70, 0x3D, 0x4D, 0xD8, 0x4F, 0xBA, 0x3C, 0x0B, 0x76, 0x0D, 0x10, 0x67, 0x0F, 0x2A, 0x20,
            0x53, 0xFA, 0x2C, 0x39, 0xCC, 0xC6, 0x4E, 0xC7, 0xFD, 0x77, 0x92, 0xAC, 0x03, 0x7A,
        ]
        for point in [[UInt8](repeating: 0, count: 32), one, minusOne, prime, eighth] {
            var negative = point
            negative[31] |= 0x80
            for bytes in [point, negative] {
                #expect(try Self.reasons([TestKey.ed25519.jwk("k", ["x": Forge.text(bytes)])]) == [.unsafe])
            }
        }
    }

    @Test("A key with its private part is not used", arguments: ["d", "p", "q", "dp", "dq", "qi", "k", "D"])
    func privateParts(_ member: String) throws {
        let set = try KeySet(Array(Forge.set([TestKey.rsa.jwk("k", [member: "AQAB"])]).utf8))
        #expect(set.skipped == [SkippedKey(id: "k", .isPrivate)])
        #expect(set.keys.isEmpty)
        #expect(set.skipped.first?.isMistake == true)
    }

    @Test("A document that is not a key set is refused")
    func documents() throws {
        for text in ["", "[]", "{}", "null", #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#, #"{"keys":[]}x"#, "<html>"] {
            #expect(throws: KeySet.Fault.self) { try KeySet(Array(text.utf8)) }
        }
        #expect(throws: KeySet.Fault.tooMany) {
            try KeySet(Array(Forge.set([String](repeating: "{}", count: 101)).utf8))
        }
        #expect(try KeySet(Array(Forge.set([String](repeating: "{}", count: 100)).utf8)).skipped.count == 100)
        let long = #"{"keys":[],"pad":""# + String(repeating: "x", count: 262_144) + "\"}"
        #expect(throws: KeySet.Fault.tooLong) { try KeySet(Array(long.utf8)) }
        #expect(try Self.reasons(["null", "[]", #"{"kty":7}"#, #"{"kid":[],"kty":"RSA"}"#]).count == 4)
    }

    @Test("A token's key is the only one that fits")
    func selection() throws {
        func set(_ keys: [String]) throws -> KeySet { try KeySet(Array(Forge.set(keys).utf8)) }
        let two = try set([TestKey.rsa.jwk("a"), TestKey.otherRSA.jwk("b"), TestKey.p256.jwk("c")])
        #expect(Self.isKnown(two, "a", .rs256) && Self.isKnown(two, "b", .rs256) && Self.isKnown(two, nil, .es256))
        #expect(!Self.isKnown(two, nil, .rs256) && !Self.isKnown(two, "A", .rs256) && !Self.isKnown(two, "", .rs256))
        let same = try set([TestKey.rsa.jwk("a"), TestKey.otherRSA.jwk("a")])
        if case .ambiguous = same.select("a", for: .rs256) {} else { Issue.record("two keys with one id") }
        // A repeated key is one key, and a key without an id serves no token with one.
        #expect(Self.isKnown(try set([TestKey.rsa.jwk("a"), TestKey.rsa.jwk("a")]), "a", .rs256))
        let nameless = try set([TestKey.rsa.jwk(nil)])
        #expect(Self.isKnown(nameless, nil, .rs256) && !Self.isKnown(nameless, "a", .rs256))
        let bound = try set([TestKey.rsa.jwk("a", ["alg": "RS384"])])
        #expect(Self.isKnown(bound, "a", .rs384) && !Self.isKnown(bound, "a", .rs256))
    }
}
