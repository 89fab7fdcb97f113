/// The two forms of an ECDSA signature.
enum ECDSASignature {
    /// Returns the DER form, which libcrypto reads, of a signature in the form of tokens: the numbers r and s, each as
    /// long as the curve's (RFC 7518, section 3.4). Returns nil if a number is zero, which some libraries accepted as a
    /// signature of everything (CVE-2022-21449).
    static func der(_ signature: [UInt8]) -> [UInt8]? {
        let half = signature.count / 2
        guard let r = integer(signature[..<half]), let s = integer(signature[half...]) else { return nil }
        // At most 2 × (2 + 1 + 48) bytes, so one byte holds the length.
        return [0x30, UInt8(r.count + s.count)] + r + s
    }

    private static func integer(_ number: ArraySlice<UInt8>) -> [UInt8]? {
        let digits = number.drop { $0 == 0 }
        guard let first = digits.first else { return nil }
        // A number whose first bit is set would be negative in DER.
        let padding: [UInt8] = first >= 0x80 ? [0] : []
        return [0x02, UInt8(padding.count + digits.count)] + padding + digits
    }
}
