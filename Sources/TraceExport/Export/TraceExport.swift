package import Logging
package import OutboundHTTP

/// The export of a gateway's spans. A reload turns it on and off and changes its settings.
package actor TraceExport {
    private struct Running {
        let run: TraceExportRun
        let task: Task<Void, Never>
    }

    /// The destination of spans. While nothing is exported, it discards them.
    package nonisolated let queue: SpanQueue
    /// The counters for the metrics.
    package nonisolated let metrics: TraceExportMetrics

    private let version: String
    /// The interval at which the export looks at the queue.
    static let pollInterval = Duration.milliseconds(50)
    /// The longest time for which spans wait although they do not fill a batch.
    static let batchInterval = Duration.seconds(5)
    /// The time that the export has for the spans that are left when it is stopped.
    static let stopGrace = Duration.seconds(5)

    private let timing: DeliveryTiming
    private let logger: Logger
    private var running: Running?
    private var isStopped = false

    /// Creates an export that is turned off.
    ///
    /// - Parameter version: The version of the program, an attribute of all spans.
    package init(version: String, timing: DeliveryTiming, logger: Logger) {
        self.version = version
        self.timing = timing
        self.logger = logger
        metrics = TraceExportMetrics()
        queue = SpanQueue(metrics)
    }

    /// Exports with these settings from now on; nil turns the export off. An export with other settings is ended like
    /// by ``stop()``. Equal settings change nothing.
    package func apply(_ settings: TraceExportSettings?) async {
        guard !isStopped, running?.run.settings != settings else { return }
        await end(reopening: settings != nil)
        guard !isStopped, running == nil, let settings else { return }
        let run = TraceExportRun(settings, version: version, queue, metrics, timing: timing, logger: logger)
        queue.open()
        running = Running(run: run, task: Task { await run.run() })
        logger.info("Trace export started")
    }

    /// Exports what is left for at most ``TraceExport/stopGrace``, and accepts no more spans.
    package func stop() async {
        isStopped = true
        await end(reopening: false)
    }

    private func end(reopening: Bool) async {
        if !reopening { queue.close() }
        guard let ending = running else { return }
        running = nil
        ending.task.cancel()
        let limit = Task { [timing] in
            // Throws if the export has ended before.
            guard (try? await timing.sleep(TraceExport.stopGrace)) != nil else { return }
            ending.run.abort()
        }
        await ending.task.value
        limit.cancel()
    }
}
