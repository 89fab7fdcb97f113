internal import GatewaySupport

/// The head of this gateway's own copy in the shared store: number and hash of its last line.
public struct CopyHead: Sendable, Hashable {
    /// The number of the line.
    let number: UInt64
    /// The hash of the line.
    let hash: SHA256.Digest
}
