public import GatewayCore

/// What is counted of a journal: by its one writer, for whoever collects metrics.
public final class JournalMetrics: Sendable {
    /// Lines that were put on disk by one synchronisation.
    public let batchLines = Histogram(.sizes)
    /// Nanoseconds from handing a batch to the system until it is on disk.
    public let syncTimes = Histogram(.latencies)
    /// Batches that could not be written.
    public let failures = Counter()
    /// Lines that were recorded and are found missing.
    public let missingLines = Counter()
    /// The bytes of all segments, as they were counted last.
    public let segmentBytes = Gauge()
    /// The bytes that are free on the journal's file system, as they were counted last.
    public let freeBytes = Gauge()

    /// Nothing counted yet.
    public init() {}
}
