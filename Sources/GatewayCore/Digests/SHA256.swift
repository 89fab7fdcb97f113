internal import CLibcrypto

/// SHA-256 (FIPS 180-4) by the system's libcrypto.
public enum SHA256 {
    /// The length of a digest in bytes.
    public static let byteCount = 32

    /// Looked up once: by `EVP_sha256()` libcrypto would look it up again, under locks, for each digest. Never written to again and
    /// never freed, so that any thread may use it.
    nonisolated(unsafe) private static let algorithm: OpaquePointer? =
        EVP_MD_fetch(nil, "SHA256", nil) ?? EVP_sha256()

    /// The digest of the bytes, or nil where libcrypto fails.
    public static func digest(_ bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBytes { digest($0) }
    }

    /// The digest of the bytes, or nil where libcrypto fails.
    public static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: byteCount)
        var written: UInt32 = 0
        let done = digest.withUnsafeMutableBufferPointer { buffer in
            EVP_Digest(bytes.baseAddress, bytes.count, buffer.baseAddress, &written, algorithm, nil)
        }
        return done == 1 && written == UInt32(byteCount) ? digest : nil
    }
}
