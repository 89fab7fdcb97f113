internal import CLibcrypto

/// Comparison whose duration does not depend on the compared bytes.
public enum ConstantTime {
    /// Returns whether both hold the same bytes. The duration depends only on the lengths.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0 }
        }
    }
}
