internal import GatewaySupport

/// The last line of a journal's copy in the shared store.
public struct CopiedEnd: Sendable, Hashable {
    /// The number of the line.
    let number: UInt64
    /// The hash of the line.
    let hash: SHA256.Digest
}
