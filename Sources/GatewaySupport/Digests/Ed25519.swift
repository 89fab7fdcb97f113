internal import CLibcrypto

/// Ed25519 signatures (RFC 8032) by the system's libcrypto, for statements that others verify without the signing key.
public enum Ed25519 {
    /// The length of a private key and of a public key in bytes.
    public static let keyByteCount = 32
    /// The length of a signature in bytes.
    public static let signatureByteCount = 64

    /// A signing key. Safe to use from several threads.
    public final class PrivateKey: @unchecked Sendable {
        // `@unchecked` is safe: a key is never changed after it is made, and libcrypto counts its references
        // atomically.
        private let key: OpaquePointer
        /// The public key that verifies the signatures of this key.
        public let publicKey: PublicKey

        /// Creates the key from a seed of 32 random bytes; returns nil for another length, or if libcrypto fails.
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

        /// Returns the 64 bytes of the signature, or nil if libcrypto fails.
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

    /// A key that verifies signatures. It is not secret.
    public struct PublicKey: Sendable, Hashable {
        /// The 32 bytes of the key.
        public let bytes: [UInt8]

        /// Creates a key from 32 bytes; returns nil for another length. Bytes that are not a valid key verify no
        /// signature.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == keyByteCount else { return nil }
            self.bytes = bytes
        }

        /// Creates a key from base64 text as `text` writes it, or returns nil.
        public init?(text: String) {
            guard let bytes = Base64.decode(Array(text.utf8).span, .standard) else { return nil }
            self.init(bytes)
        }

        /// The key in base64 (RFC 4648, section 4), 44 characters.
        public var text: String { String(decoding: Base64.encode(bytes, .standard), as: UTF8.self) }

        /// Returns whether the signature was made by the matching private key over this message.
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
