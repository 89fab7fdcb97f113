internal import CLibcrypto

/// Signatures by Ed25519 (RFC 8032) with the system's libcrypto, for statements that must be checked without the key that
/// made them.
public enum Ed25519 {
    /// The length of a private and of a public key in bytes.
    public static let keyByteCount = 32
    /// The length of a signature in bytes.
    public static let signatureByteCount = 64

    /// A key that signs. May be used from several threads.
    public final class PrivateKey: @unchecked Sendable {
        // A key is never changed once it is made, and libcrypto counts its references atomically.
        private let key: OpaquePointer
        /// What checks the signatures of this key.
        public let publicKey: PublicKey

        /// The key whose private part these 32 random bytes are; nil for another number, or where libcrypto refuses.
        public init?(seed: Secret) {
            let made = seed.withUnsafeBytes { bytes in
                EVP_PKEY_new_raw_private_key(
                    EVP_PKEY_ED25519, nil, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
            }
            guard let made else { return nil }
            var bytes = [UInt8](repeating: 0, count: keyByteCount)
            var length = bytes.count
            let read = bytes.withUnsafeMutableBufferPointer {
                EVP_PKEY_get_raw_public_key(made, $0.baseAddress, &length)
            }
            guard read == 1, let publicKey = PublicKey(bytes) else {
                EVP_PKEY_free(made)
                return nil
            }
            key = made
            self.publicKey = publicKey
        }

        deinit { EVP_PKEY_free(key) }

        /// The 64 bytes of the signature, or nil where libcrypto fails.
        public func signature(of message: [UInt8]) -> [UInt8]? {
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else { return nil }
            var signature = [UInt8](repeating: 0, count: signatureByteCount)
            var length = signature.count
            let signed = signature.withUnsafeMutableBufferPointer {
                EVP_DigestSign(context, $0.baseAddress, &length, message, message.count)
            }
            return signed == 1 && length == signatureByteCount ? signature : nil
        }
    }

    /// A key that checks signatures, and may be given to anybody.
    public struct PublicKey: Sendable, Hashable {
        /// 32 bytes.
        public let bytes: [UInt8]

        /// A key from its 32 bytes; nil for another number. Bytes that are no key check no signature.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == keyByteCount else { return nil }
            self.bytes = bytes
        }

        /// A key as `text` has it, or nil.
        public init?(text: String) {
            guard let bytes = Base64.decode(Array(text.utf8).span, .standard) else { return nil }
            self.init(bytes)
        }

        /// The key in base64 (RFC 4648, section 4), 44 characters.
        public var text: String { String(decoding: Base64.encode(bytes, .standard), as: UTF8.self) }

        /// Whether the signature is this key's and of this message.
        public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
            guard signature.count == signatureByteCount,
                let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
            else { return false }
            defer { EVP_PKEY_free(key) }
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
            return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
        }
    }
}
