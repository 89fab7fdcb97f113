internal import GatewaySupport

/// The counters of the archive, which outlive a change of its settings.
final class ArchiveMetrics: Sendable {
    let uploaded = Counter()
    let failures = Counter()
    let conflicts = Counter()
    let lost = Counter()
}

/// The state of the archive for the metrics.
public struct ArchiveReading: Sendable, Hashable {
    /// The number of finished segments that are not archived.
    public let segmentsBehind: Int
    /// Their size in bytes.
    public let bytesBehind: UInt64
    /// The number of segments that were sent to the store since the start.
    public let uploaded: UInt64
    /// The number of failed attempts.
    public let failures: UInt64
    /// The number of segments for which the store had an object with other content.
    public let conflicts: UInt64
    /// The number of lines that the journal no longer contained when they were to be archived.
    public let lost: UInt64
}
