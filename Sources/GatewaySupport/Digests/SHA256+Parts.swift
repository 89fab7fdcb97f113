internal import CLibcrypto

extension SHA256 {
    /// A digest of bytes that arrive in parts.
    ///
    /// Not `Sendable`, because the context is mutable state.
    package final class Accumulator {
        private let context: OpaquePointer

        /// Creates the digest of no bytes; returns nil if libcrypto fails.
        package init?() {
            guard let context = EVP_MD_CTX_new() else { return nil }
            self.context = context
            // A failed initializer runs `deinit` too, because all properties are set.
            guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { return nil }
        }

        deinit { EVP_MD_CTX_free(context) }

        /// Adds bytes. Returns whether libcrypto accepted them.
        package func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
            EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
        }

        /// Returns the digest of all bytes, or nil if libcrypto fails. Called once, as the last function.
        package func finish() -> Digest? {
            var bytes = [UInt8](repeating: 0, count: byteCount)
            var written: UInt32 = 0
            guard EVP_DigestFinal_ex(context, &bytes, &written) == 1, written == UInt32(byteCount) else { return nil }
            return Digest(bytes)
        }
    }
}
