internal import CLibcrypto

/// AES-256-GCM (NIST SP 800-38D) under one key, by the system's libcrypto. Safe to use from any thread.
///
/// Each sealed value has a nonce that the kernel draws for it. With random nonces one key may seal 2^32 values (SP 800-38D, section 8.3).
public struct AESGCM: Sendable {
    /// The number of bytes by which a sealed value is longer than the plain one: a nonce before it and a tag after it.
    public static let overhead = nonceLength + tagLength

    private static let keyLength = 32
    private static let nonceLength = 12
    private static let tagLength = 16

    private let key: Secret

    /// Creates a cipher; returns nil for a key that has not 32 bytes.
    public init?(key: Secret) {
        guard key.count == Self.keyLength else { return nil }
        self.key = key
    }

    /// Returns the nonce, the encrypted bytes and the tag; nil if libcrypto fails.
    ///
    /// - Parameter context: Bytes that are not stored, and without which the value cannot be opened.
    public func seal(_ plain: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard let cipher = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(cipher) }
        let nonce = RandomBytes.make(Self.nonceLength)
        let isReady = key.withUnsafeBytes { key in
            EVP_EncryptInit_ex(
                cipher, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce)
        }
        var written: CInt = 0
        guard isReady == 1, let length = CInt(exactly: plain.count), let contextLength = CInt(exactly: context.count),
            EVP_EncryptUpdate(cipher, nil, &written, context, contextLength) == 1
        else { return nil }
        var encrypted = [UInt8](repeating: 0, count: plain.count)
        var rest: CInt = 0
        var end = [UInt8](repeating: 0, count: 16)
        // GCM is a stream mode: the final call writes no byte.
        guard EVP_EncryptUpdate(cipher, &encrypted, &written, plain, length) == 1, written == length,
            EVP_EncryptFinal_ex(cipher, &end, &rest) == 1, rest == 0
        else { return nil }
        var tag = [UInt8](repeating: 0, count: Self.tagLength)
        guard EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, CInt(Self.tagLength), &tag) == 1 else { return nil }
        return nonce + encrypted + tag
    }

    /// Returns the plain bytes of a sealed value; nil if it was sealed with another key or context, or was changed.
    public func open(_ sealed: [UInt8], context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.overhead, let cipher = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(cipher) }
        let nonce = Array(sealed.prefix(Self.nonceLength))
        let encrypted = Array(sealed.dropFirst(Self.nonceLength).dropLast(Self.tagLength))
        var tag = Array(sealed.suffix(Self.tagLength))
        let isReady = key.withUnsafeBytes { key in
            EVP_DecryptInit_ex(
                cipher, EVP_aes_256_gcm(), nil, key.baseAddress?.assumingMemoryBound(to: UInt8.self), nonce)
        }
        var written: CInt = 0
        guard isReady == 1, let length = CInt(exactly: encrypted.count),
            let contextLength = CInt(exactly: context.count),
            EVP_DecryptUpdate(cipher, nil, &written, context, contextLength) == 1
        else { return nil }
        var plain = [UInt8](repeating: 0, count: encrypted.count)
        var rest: CInt = 0
        var end = [UInt8](repeating: 0, count: 16)
        guard EVP_DecryptUpdate(cipher, &plain, &written, encrypted, length) == 1, written == length,
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, CInt(Self.tagLength), &tag) == 1,
            EVP_DecryptFinal_ex(cipher, &end, &rest) == 1
        else { return nil }
        return plain
    }
}
