public import GatewaySupport
public import Logging

extension JournalFile {
    /// The location and the settings of a journal.
    public struct Configuration: Sendable {
        /// The directory. A missing one is created with mode 0700.
        public var directory: String
        /// The length of a segment in bytes after which a new one is started.
        public var segmentBytes = 64 << 20
        /// The age of a segment after which a new one is started, so that retention by age does not wait for a full
        /// segment.
        public var segmentAge = Duration.seconds(86_400)
        /// The key that signs checkpoints and removals. Without a key there are no checkpoints and no segment is
        /// removed.
        public var signingKey: Ed25519.PrivateKey?
        /// The destination to which checkpoints are copied; nil for none.
        public var checkpointCopy: CheckpointDestination?
        /// How long a segment is kept after its last record.
        public var keep = Duration.seconds(90 * 86_400)
        /// The maximum total size of the segments in bytes. Beyond it the oldest are removed.
        public var keepBytes = 20 << 30
        /// The number of free bytes below which calls are no longer recorded; 0 turns the check off. Records that
        /// complete an intent are written in any case.
        public var minimumFree = 256 << 20
        /// The maximum number of waiting records, including the expected outcomes of admitted intents.
        public var queueLimit = 65_536
        /// The wall clock of the records, and the monotonic clock of all intervals.
        public var clocks: Clocks
        /// The logger for failures and recoveries.
        public var logger: Logger
        /// The journal's metrics.
        public var metrics = JournalMetrics()
        /// The first non-zero wait between attempts to open a segment after a failure. The first attempt does not wait,
        /// and each further wait doubles.
        var initialRetryDelay = Duration.milliseconds(50)
        /// The maximum wait between such attempts.
        var maximumRetryDelay = Duration.seconds(1)
        /// The maximum age of a record that no checkpoint covers.
        var checkpointInterval = Duration.seconds(60)
        /// The readers that follow the journal. Retention by age keeps what they need.
        public var followers = JournalFollowers()
        /// The interval of retention checks.
        var retentionInterval = Duration.seconds(3600)
        /// The maximum interval between comparisons of the open segment with its file while nothing is written.
        var watchInterval = Duration.seconds(1)
        /// The ledger that stores the last checkpoint; it shows that a journal was replaced or deleted.
        public var ledger: (any JournalCheckpointStore)?

        /// The indexes of closed segments, which make a start faster; nil to read the segments themselves.
        package var indexedSegments: (any IndexedSegments)?

        /// Creates a configuration with the default settings.
        public init(directory: String, clocks: Clocks = .system, logger: Logger) {
            self.directory = directory
            self.clocks = clocks
            self.logger = logger
        }
    }

    /// The settings that may change while the journal is open.
    public struct Bounds: Sendable, Hashable {
        /// The number of free bytes below which calls are no longer recorded; 0 turns the check off.
        public var minimumFree: Int
        /// How long a segment is kept after its last record.
        public var keep: Duration
        /// The maximum total size of the segments in bytes.
        public var keepBytes: Int

        /// Creates bounds from their parts.
        public init(minimumFree: Int, keep: Duration, keepBytes: Int) {
            self.minimumFree = minimumFree
            self.keep = keep
            self.keepBytes = keepBytes
        }
    }
}

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
