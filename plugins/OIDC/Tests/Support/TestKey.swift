import CLibcrypto
import GatewaySupport

@testable import OIDC

/// A key pair of a provider in tests. `@unchecked` is safe: the key is never changed after it is made.
final class TestKey: @unchecked Sendable {
    let kind: PublicKey.Kind
    private let key: OpaquePointer

    private init(_ kind: PublicKey.Kind, bits: Int = 2048) {
        self.kind = kind
        let type =
            switch kind {
            case .rsa: "RSA"
            case .p256, .p384: "EC"
            case .ed25519: "ED25519"
            }
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch kind {
        case .rsa: EVP_PKEY_CTX_ctrl_str(context, "rsa_keygen_bits", "\(bits)")
        case .p256: EVP_PKEY_CTX_ctrl_str(context, "ec_paramgen_curve", "P-256")
        case .p384: EVP_PKEY_CTX_ctrl_str(context, "ec_paramgen_curve", "P-384")
        case .ed25519: break
        }
        var made: OpaquePointer?
        // A test cannot go on without a key.
        guard EVP_PKEY_generate(context, &made) == 1, let made else { fatalError("libcrypto made no key") }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    static let rsa = TestKey(.rsa)
    static let otherRSA = TestKey(.rsa)
    static let shortRSA = TestKey(.rsa, bits: 1024)
    static let p256 = TestKey(.p256)
    static let otherP256 = TestKey(.p256)
    static let p384 = TestKey(.p384)
    static let ed25519 = TestKey(.ed25519)

    /// Returns a new key on P-256, which is made faster than one of RSA.
    static func fresh() -> TestKey { TestKey(.p256) }

    static func of(_ algorithm: SignatureAlgorithm) -> TestKey {
        switch algorithm.keyKind {
        case .rsa: rsa
        case .p256: p256
        case .p384: p384
        case .ed25519: ed25519
        }
    }

    /// Returns a number of the key, big-endian.
    private func number(_ name: StaticString, byteCount: Int = 1100) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: byteCount)
        buffer.withUnsafeMutableBufferPointer { buffer in
            let name = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
            var parameters = [
                OSSL_PARAM_construct_BN(name, buffer.baseAddress, buffer.count), OSSL_PARAM_construct_end(),
            ]
            EVP_PKEY_get_params(key, &parameters)
        }
        return Array(buffer.reversed().drop { $0 == 0 })
    }

    private func padded(_ bytes: [UInt8], to count: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: count - bytes.count) + bytes
    }

    var modulus: [UInt8] { number("n") }

    /// The members of the public key in a key set.
    var members: [String: String] {
        switch kind {
        case .rsa: return ["kty": "RSA", "n": Forge.text(modulus), "e": Forge.text(number("e"))]
        case .p256, .p384:
            let count = kind == .p256 ? 32 : 48
            return [
                "kty": "EC", "crv": kind == .p256 ? "P-256" : "P-384",
                "x": Forge.text(padded(number("qx", byteCount: 64), to: count)),
                "y": Forge.text(padded(number("qy", byteCount: 64), to: count)),
            ]
        case .ed25519:
            var bytes = [UInt8](repeating: 0, count: 32)
            var length = 32
            EVP_PKEY_get_raw_public_key(key, &bytes, &length)
            return ["kty": "OKP", "crv": "Ed25519", "x": Forge.text(bytes)]
        }
    }

    /// Returns the public key as an element of a key set. An empty change removes a member.
    func jwk(_ id: String?, _ changes: [String: String] = [:]) -> String {
        var all = members.merging(changes) { $1 }
        if let id { all["kid"] = id }
        return "{"
            + all.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }
            .map { "\"\($0.key)\":" + ($0.value.hasPrefix("[") ? $0.value : "\"\($0.value)\"") }
            .joined(separator: ",") + "}"
    }

    /// Signs as a token is signed.
    func sign(_ message: [UInt8], _ algorithm: SignatureAlgorithm) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var parameters: OpaquePointer?
        EVP_DigestSignInit(context, &parameters, algorithm.digest, nil, key)
        if algorithm.isPSS {
            EVP_PKEY_CTX_ctrl_str(parameters, "rsa_padding_mode", "pss")
            EVP_PKEY_CTX_ctrl_str(parameters, "rsa_pss_saltlen", "digest")
        }
        var signature = [UInt8](repeating: 0, count: 1100)
        var length = signature.count
        guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { return [] }
        signature = Array(signature.prefix(length))
        guard kind == .p256 || kind == .p384 else { return signature }
        // SEQUENCE { INTEGER r, INTEGER s }
        let count = kind == .p256 ? 32 : 48
        let r = Array(signature[4..<4 + Int(signature[3])])
        let s = Array(signature[(6 + r.count)...])
        return [r, s].flatMap { padded(Array($0.drop { $0 == 0 }), to: count) }
    }
}
