internal import GatewayCore
internal import GatewaySupport

/// The digest of the lines of an export so far: of each line after the digest of the lines before it.
struct TransferDigest {
    private(set) var bytes = SHA256.Digest.zero.bytes

    /// Adds a line without its line feed.
    mutating func add(_ line: some Sequence<UInt8>) throws(LedgerUnavailable) {
        guard let digest = SHA256.digest(bytes + line) else {
            throw LedgerUnavailable("the digest could not be computed: libcrypto failed")
        }
        bytes = digest
    }
}
