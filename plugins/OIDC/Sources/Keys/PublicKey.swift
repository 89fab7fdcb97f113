internal import CLibcrypto
internal import GatewaySupport

/// A public key in libcrypto's form. Safe to use from several threads.
final class PublicKey: @unchecked Sendable {
    // `@unchecked` is safe: the key is never changed after it is made, and libcrypto counts its references atomically.

    /// The type of a key, with its curve.
    enum Kind: Sendable, Hashable {
        case rsa, p256, p384, ed25519
    }

    /// The type and the curve.
    let kind: Kind
    private let key: OpaquePointer
    /// The length of a signature in bytes, in the form of a token.
    private let signatureByteCount: Int

    fileprivate init(_ kind: Kind, _ key: OpaquePointer, signatureByteCount: Int) {
        self.kind = kind
        self.key = key
        self.signatureByteCount = signatureByteCount
    }

    deinit { EVP_PKEY_free(key) }

    /// Returns whether the signature was made by the matching private key over the message; nil if libcrypto fails.
    ///
    /// An algorithm for another kind of key verifies nothing.
    func verifies(_ signature: [UInt8], of message: [UInt8], with algorithm: SignatureAlgorithm) -> Bool? {
        guard algorithm.keyKind == kind, signature.count == signatureByteCount else { return false }
        var encoded = signature
        if kind == .p256 || kind == .p384 {
            guard let sequence = ECDSASignature.der(signature) else { return false }
            encoded = sequence
        }
        guard let context = EVP_MD_CTX_new() else { return nil }
        // A wrong signature leaves errors in the thread's queue, where later code could mistake them for its own.
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        // The digest context owns these parameters.
        var parameters: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &parameters, algorithm.digest, nil, key) == 1 else { return nil }
        if algorithm.isPSS {
            // The digest of MGF1 is that of the message unless it is set.
            guard EVP_PKEY_CTX_ctrl_str(parameters, "rsa_padding_mode", "pss") == 1,
                EVP_PKEY_CTX_ctrl_str(parameters, "rsa_pss_saltlen", "digest") == 1
            else { return nil }
        }
        return EVP_DigestVerify(context, encoded, encoded.count, message, message.count) == 1
    }
}

extension PublicKey {
    /// The bounds of an RSA modulus in bits. A shorter one can be factored; a longer one makes each verification slow.
    static let modulusBits = 2048...8192

    /// Makes an RSA key; returns nil if it is too short, too long, or its exponent is unsafe.
    ///
    /// - Parameters:
    ///   - modulus: The big-endian modulus (`n`).
    ///   - exponent: The big-endian public exponent (`e`): odd, from 3, at most 64 bits. With the exponent 1 every
    ///     message would be its own signature.
    static func rsa(modulus: [UInt8], exponent: [UInt8]) -> PublicKey? {
        let (modulus, exponent) = (Array(modulus.drop { $0 == 0 }), Array(exponent.drop { $0 == 0 }))
        guard let first = modulus.first, let last = modulus.last, !last.isMultiple(of: 2),
            modulusBits.contains(modulus.count * 8 - first.leadingZeroBitCount),
            let lowest = exponent.last, !lowest.isMultiple(of: 2), exponent.count <= 8, exponent != [1]
        else { return nil }
        // libcrypto takes numbers in the byte order of the machine.
        var (n, e) = (Array(modulus.reversed()), Array(exponent.reversed()))
        if 1.bigEndian == 1 { (n, e) = (modulus, exponent) }
        let made = n.withUnsafeMutableBufferPointer { n in
            e.withUnsafeMutableBufferPointer { e in
                make(
                    "RSA",
                    [
                        OSSL_PARAM_construct_BN(name("n"), n.baseAddress, n.count),
                        OSSL_PARAM_construct_BN(name("e"), e.baseAddress, e.count),
                    ])
            }
        }
        return made.map { PublicKey(.rsa, $0, signatureByteCount: modulus.count) }
    }

    /// Makes a key on P-256 or P-384; returns nil if the coordinates have another length or are not a point of the
    /// curve.
    static func elliptic(_ kind: Kind, x: [UInt8], y: [UInt8]) -> PublicKey? {
        let (byteCount, curve): (Int, StaticString)
        switch kind {
        case .p256: (byteCount, curve) = (32, "P-256")
        case .p384: (byteCount, curve) = (48, "P-384")
        case .rsa, .ed25519: return nil
        }
        guard x.count == byteCount, y.count == byteCount else { return nil }
        // SEC 1, section 2.3.3: an uncompressed point.
        var point = [4] + x + y
        let made = point.withUnsafeMutableBufferPointer { point in
            make(
                "EC",
                [
                    OSSL_PARAM_construct_utf8_string(
                        name("group"), UnsafeMutablePointer(mutating: name(curve)), curve.utf8CodeUnitCount),
                    OSSL_PARAM_construct_octet_string(name("pub"), point.baseAddress, point.count),
                ])
        }
        guard let made else { return nil }
        let key = PublicKey(kind, made, signatureByteCount: 2 * byteCount)
        return key.isOnItsCurve ? key : nil
    }

    /// Makes an Ed25519 key; returns nil for another length, a point of small order or an encoding that is not
    /// canonical.
    static func ed25519(_ bytes: [UInt8]) -> PublicKey? {
        guard bytes.count == Ed25519.keyByteCount, !EdwardsPoint.isWeak(bytes),
            let made = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { return nil }
        return PublicKey(.ed25519, made, signatureByteCount: Ed25519.signatureByteCount)
    }

    private var isOnItsCurve: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return false }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_PKEY_public_check(context) == 1
    }

    /// Makes libcrypto's key from its parameters, whose buffers must be valid during the call.
    private static func make(_ type: StaticString, _ parameters: [OSSL_PARAM]) -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, name(type), nil) else { return nil }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        guard EVP_PKEY_fromdata_init(context) == 1 else { return nil }
        var key: OpaquePointer?
        var parameters = parameters + [OSSL_PARAM_construct_end()]
        guard EVP_PKEY_fromdata(context, &key, publicKeySelection, &parameters) == 1 else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }

    /// `EVP_PKEY_PUBLIC_KEY`: domain parameters (4), other parameters (128) and the public key (2). Swift does not
    /// import the macro.
    private static let publicKeySelection: CInt = 4 | 128 | 2

    /// The C string of a literal, which ends with NUL and is never freed.
    private static func name(_ literal: StaticString) -> UnsafePointer<CChar> {
        UnsafeRawPointer(literal.utf8Start).assumingMemoryBound(to: CChar.self)
    }
}
