public import GatewaySupport

/// The metrics of one journal. The writer thread updates them; any thread may read them.
public final class JournalMetrics: Sendable {
    /// The number of lines per synchronization.
    public let batchLines = Histogram(.sizes)
    /// The nanoseconds from the write call of a batch until it is on disk.
    public let syncTimes = Histogram(.latencies)
    /// The number of batches that could not be written.
    public let failures = Counter()
    /// The number of recorded lines that were found missing.
    public let missingLines = Counter()
    /// The total size of the segments in bytes at the last check.
    public let segmentBytes = Gauge()
    /// The free bytes of the journal's file system at the last check.
    public let freeBytes = Gauge()

    /// Creates metrics without values.
    public init() {}
}
