import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@testable import OIDC

/// Google's Wycheproof vectors of signatures, which contain the known attacks. The checkout of swift-crypto, on which
/// the build depends, has them.
@Suite("Wycheproof vectors")
struct WycheproofTests {
    private static let folder: URL? = {
        let url = TestData.package.appendingPathComponent(".build/checkouts/swift-crypto/Tests")
        return FileManager.default.fileExists(atPath: url.path) ? url : nil
    }()

    private struct Vectors: Decodable {
        struct Numbers: Decodable {
            var wx: String?
            var wy: String?
            var pk: String?
        }
        struct Test: Decodable {
            var tcId: Int
            var msg: String
            var sig: String
            var result: String
        }
        struct Group: Decodable {
            var publicKey: Numbers?
            var key: Numbers?
            var n: String?
            var e: String?
            var tests: [Test]
        }
        var testGroups: [Group]
    }

    @Test(
        "Every invalid signature is rejected and every valid one is accepted",
        .enabled(if: folder != nil, "no checkout of swift-crypto"),
        arguments: [
            ("Test Vectors/ecdsa_secp256r1_sha256_p1363_test", SignatureAlgorithm.es256),
            ("Test Vectors/ecdsa_secp384r1_sha384_p1363_test", .es384), ("Test Vectors/ed25519_test", .edDSA),
            ("CryptoExtrasVectors/rsa_signature_2048_sha256_test", .rs256),
            ("CryptoExtrasVectors/rsa_signature_2048_sha512_test", .rs512),
            ("CryptoExtrasVectors/rsa_signature_3072_sha256_test", .rs256),
            ("CryptoExtrasVectors/rsa_signature_4096_sha512_test", .rs512),
            ("CryptoExtrasVectors/rsa_pss_2048_sha256_mgf1_32_test", .ps256),
            ("CryptoExtrasVectors/rsa_pss_4096_sha256_mgf1_32_test", .ps256),
        ])
    func vectors(_ name: String, _ algorithm: SignatureAlgorithm) throws {
        let file = try #require(Self.folder).appendingPathComponent(name + ".json")
        let vectors = try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: file))
        var (valid, invalid) = (0, 0)
        for group in vectors.testGroups {
            let key = try #require(try Self.key(of: group, algorithm))
            for test in group.tests {
                let result = key.verifies(
                    try Self.bytes(test.sig), of: try Self.bytes(test.msg), with: algorithm)
                switch test.result {
                case "valid":
                    #expect(result == true, "\(test.tcId)")
                    valid += 1
                case "acceptable": break
                default:
                    #expect(result == false, "\(test.tcId)")
                    invalid += 1
                }
            }
        }
        #expect(invalid > 20 && valid > 0)
    }

    private static func key(of group: Vectors.Group, _ algorithm: SignatureAlgorithm) throws -> PublicKey? {
        let numbers = group.publicKey ?? group.key
        switch algorithm.keyKind {
        case .rsa: return .rsa(modulus: try bytes(group.n ?? ""), exponent: try bytes(group.e ?? ""))
        case .p256, .p384:
            let count = algorithm.keyKind == .p256 ? 32 : 48
            return .elliptic(
                algorithm.keyKind, x: try bytes(numbers?.wx ?? "").suffix(count),
                y: try bytes(numbers?.wy ?? "").suffix(count)
            )
        case .ed25519: return .ed25519(try bytes(numbers?.pk ?? ""))
        }
    }

    private static func bytes(_ hex: String) throws -> [UInt8] {
        let digits = Array(hex.utf8)
        return try stride(from: 0, to: digits.count, by: 2).map { index in
            try #require(UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16))
        }
    }
}

extension PublicKey {
    fileprivate static func elliptic(_ kind: Kind, x: ArraySlice<UInt8>, y: ArraySlice<UInt8>) -> PublicKey? {
        func padded(_ number: ArraySlice<UInt8>) -> [UInt8] {
            [UInt8](repeating: 0, count: max(0, (kind == .p256 ? 32 : 48) - number.count)) + number
        }
        return elliptic(kind, x: padded(x), y: padded(y))
    }
}
