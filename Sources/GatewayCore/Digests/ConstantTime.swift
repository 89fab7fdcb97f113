internal import CLibcrypto

/// Comparison that tells nothing by its duration.
public enum ConstantTime {
    /// Whether both hold the same bytes; the time depends on the lengths alone.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0 }
        }
    }
}
