/// Random bytes of the kernel, for keys, nonces and names that nobody may guess or draw again.
///
/// Each call asks the kernel, by getrandom(2). A generator in the process's memory would give the same bytes to both copies of a
/// virtual machine that was cloned or went back to a snapshot, and a repeated nonce reveals what AES-GCM encrypts.
public enum RandomBytes {
    /// Returns that many bytes.
    public static func make(_ count: Int) -> [UInt8] {
        var kernel = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count { withUnsafeBytes(of: kernel.next() as UInt64) { bytes += $0 } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
