public import GatewayStore
internal import GatewaySupport
package import Logging
package import OutboundHTTP

/// The archive of a gateway's journal. A reload changes it, turns it on and off.
public actor SegmentArchive {
    /// The journal whose segments are archived.
    public struct Journal: Sendable {
        /// The directory of the segments.
        let directory: String
        /// The durable end of the journal, and the declared need of the archive.
        let followers: JournalFollowers

        /// Creates the description of an open journal.
        public init(directory: String, followers: JournalFollowers) {
            self.directory = directory
            self.followers = followers
        }
    }

    private let journal: Journal
    private let timing: DeliveryTiming
    private let logger: Logger
    private let metrics = ArchiveMetrics()
    private var running: (uploader: SegmentUploader, task: Task<Void, Never>)?
    private var isStopped = false

    /// Creates the object without an uploader.
    package init(_ journal: Journal, timing: DeliveryTiming, logger: Logger) {
        self.journal = journal
        self.timing = timing
        self.logger = logger
    }

    /// Starts, changes or stops the archive. One with equal settings goes on; a changed one continues from its progress.
    public func apply(_ settings: ArchiveSettings?) async {
        guard !isStopped, settings != running?.uploader.settings else { return }
        await end()
        guard let settings else { return journal.followers.release(JournalFollowers.archive) }
        guard !isStopped else { return }
        let uploader = SegmentUploader(settings, journal: journal, timing: timing, metrics: metrics, logger: logger)
        running = (uploader, Task { await uploader.run() })
        logger.info(
            "Segment archive started", metadata: ["bucket": "\(settings.bucket)", "prefix": "\(settings.prefix)"])
    }

    /// Stops the archive. A request in progress has ``SegmentUploader/stopGrace``. What it does not complete is repeated
    /// by the next run.
    public func stop() async {
        isStopped = true
        await end()
    }

    /// The state for the metrics; nil without an archive.
    public var reading: ArchiveReading? { running?.uploader.reading }

    private func end() async {
        guard let ended = running else { return }
        ended.task.cancel()
        await ended.task.value
        if running?.uploader === ended.uploader { running = nil }
    }
}
