import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import OIDC

@Suite("Signatures of oidc tokens")
struct SignatureTests {
    private static let all = Set(SignatureAlgorithm.allCases)
    private static let keys = Forge.set([
        TestKey.rsa.jwk("rsa"), TestKey.p256.jwk("p256"), TestKey.p384.jwk("p384"), TestKey.ed25519.jwk("ed25519"),
    ])

    private static func id(_ algorithm: SignatureAlgorithm) -> String { "\(algorithm.keyKind)" }

    @Test("A token of each algorithm is accepted, and no change of one bit is", arguments: SignatureAlgorithm.allCases)
    func algorithms(_ algorithm: SignatureAlgorithm) async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        let token = Forge.token(algorithm, kid: Self.id(algorithm))
        let good = Array(token.utf8)
        #expect(await authenticator.present(token) == identity("alice"))
        for index in good.indices {
            var bad = good
            bad[index] ^= 1 << UInt8(index % 7)
            let outcome = await authenticator.present(String(decoding: bad, as: UTF8.self))
            #expect(!outcome.isGrant, "byte \(index)")
        }
        for count in 1..<40 { #expect(!(await authenticator.present(String(token.dropLast(count))).isGrant)) }
        for more in ["A", "AAAA", "=", ".", "..", " "] { #expect(!(await authenticator.present(token + more).isGrant)) }
    }

    @Test("A token of an algorithm that is not configured is rejected", arguments: SignatureAlgorithm.allCases)
    func unconfigured(_ algorithm: SignatureAlgorithm) async throws {
        let others = Self.all.subtracting([algorithm])
        let authenticator = try await testAuthenticator(.test(algorithms: others), keys: Self.keys)
        #expect(await authenticator.present(Forge.token(algorithm, kid: Self.id(algorithm))) == .rejected(.untrusted))
    }

    @Test("A key verifies no algorithm of another type or curve", arguments: SignatureAlgorithm.allCases)
    func confusion(_ algorithm: SignatureAlgorithm) async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        for kid in ["rsa", "p256", "p384", "ed25519"] where kid != Self.id(algorithm) {
            #expect(await authenticator.present(Forge.token(algorithm, kid: kid)) == .rejected(.untrusted), "\(kid)")
        }
    }

    @Test("The same message signed with another padding or digest is rejected")
    func padding() async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        for (named, used) in [(SignatureAlgorithm.rs256, SignatureAlgorithm.ps256), (.ps256, .rs256), (.rs512, .rs256)]
        {
            let token = Forge.token(used, header: "{\"alg\":\"\(named.rawValue)\",\"kid\":\"rsa\"}")
            #expect(await authenticator.present(token) == .rejected(.untrusted))
        }
    }

    @Test("ECDSA numbers that are zero or too large, and a signature in DER, are rejected")
    func ecdsa() async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        let token = Forge.token(.es256, kid: "p256")
        let parts = token.split(separator: ".").map(String.init)
        let decoded = Base64.decode(Array(parts[2].utf8).span, .url)
        let good = try #require(decoded)
        let zero = [UInt8](repeating: 0, count: 32)
        let order: [UInt8] =
            [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [
                0xBC, 0xE6, 0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
            ]
        let (r, s) = (Array(good[..<32]), Array(good[32...]))
        let der = try #require(ECDSASignature.der(good))
        for signature in [zero + zero, zero + s, r + zero, order + s, r + order, order + order, der, r, good + [0]] {
            let forged = "\(parts[0]).\(parts[1]).\(Forge.text(signature))"
            #expect(await authenticator.present(forged) == .rejected(.untrusted), "\(signature)")
        }
    }

    @Test("A token without a signature is no token")
    func none() async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        let claims = Forge.text(Array(Forge.claims().utf8))
        for name in ["none", "None", "NONE", "nOnE", ""] {
            let header = Forge.text(Array("{\"alg\":\"\(name)\"}".utf8))
            #expect(await authenticator.present("\(header).\(claims).") == .rejected(.malformed))
            #expect(await authenticator.present("\(header).\(claims).AA") == .rejected(.untrusted))
        }
    }

    @Test("The public key is no secret of HMAC", arguments: ["HS256", "HS384", "HS512"])
    func symmetric(_ name: String) async throws {
        let authenticator = try await testAuthenticator(.test(algorithms: Self.all), keys: Self.keys)
        let digest: HMAC.Algorithm =
            switch name {
            case "HS256": .sha256
            case "HS384": .sha384
            default: .sha512
            }
        let header = Forge.text(Array("{\"alg\":\"\(name)\",\"kid\":\"rsa\"}".utf8))
        let input = header + "." + Forge.text(Array(Forge.claims().utf8))
        for secret in [TestKey.rsa.modulus, Array(TestKey.rsa.jwk("rsa").utf8), Array(Self.keys.utf8), []] {
            let tag = HMAC(digest, key: Secret(secret))?.tag(over: Array(input.utf8)) ?? [0]
            #expect(await authenticator.present(input + "." + Forge.text(tag)) == .rejected(.untrusted))
        }
    }
}
