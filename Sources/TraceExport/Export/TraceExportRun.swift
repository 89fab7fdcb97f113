internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import OutboundHTTP
internal import Synchronization

/// The loop that exports the spans of the queue to one collector.
///
/// It is one task, with one request at a time. A stop cancels the task: it then makes one attempt for each batch that is
/// left, and `abort()` ends these too.
final class TraceExportRun: Sendable {
    /// The maximum number of spans in a request. A call with more has a request of its own.
    static let maximumBatchSpans = 512
    /// The maximum number of attempts to export a batch.
    static let maximumAttempts = 6
    /// The longest wait between two attempts, if the collector does not ask for a longer one.
    static let longestDelay = Duration.seconds(30)
    /// The longest wait that the collector can ask for.
    static let longestRequestedDelay = Duration.seconds(300)

    let settings: TraceExportSettings
    private let queue: SpanQueue
    private let encoder: OTLPTraceEncoder
    private let collector: TraceCollector
    private let metrics: TraceExportMetrics
    private let timing: DeliveryTiming
    private let logger: Logger
    private let abortion = Mutex(Abortion())

    private struct Abortion {
        var isRequested = false
        var request: Task<OTLPResponse, Never>?
    }

    /// Whether the last batch failed, so that the log has one line for each change.
    private struct Health {
        var isFailing = false
        /// Whether the log says already that the collector rejects spans.
        var hasReportedRejection = false
    }

    init(
        _ settings: TraceExportSettings, version: String, _ queue: SpanQueue, _ metrics: TraceExportMetrics,
        timing: DeliveryTiming, logger: Logger
    ) {
        self.settings = settings
        self.queue = queue
        self.metrics = metrics
        self.timing = timing
        self.logger = logger
        encoder = OTLPTraceEncoder(TraceResource(service: settings.service, version: version))
        collector = TraceCollector(settings, clocks: timing.clocks)
    }

    /// Exports until the task is cancelled, and then what is left.
    func run() async {
        var health = Health()
        var last = timing.clocks.monotonic().nanoseconds
        while !Task.isCancelled {
            let now = timing.clocks.monotonic().nanoseconds
            let isDue = now - last >= TraceExport.batchInterval.nanoseconds
            if queue.count >= Self.maximumBatchSpans || isDue {
                last = now
                await export(queue.removeAll(), &health)
            } else {
                try? await timing.sleep(TraceExport.pollInterval)
            }
        }
        await export(queue.removeAll(), &health)
        await collector.close()
    }

    /// Aborts the request in progress and makes no further one.
    func abort() {
        let request = abortion.withLock { abortion in
            abortion.isRequested = true
            return abortion.request
        }
        request?.cancel()
    }

    private func export(_ calls: [CallSpans], _ health: inout Health) async {
        var start = calls.startIndex
        while start < calls.endIndex {
            var (end, spans) = (start, 0)
            while end < calls.endIndex, end == start || spans + calls[end].spans.count <= Self.maximumBatchSpans {
                spans += calls[end].spans.count
                end += 1
            }
            await export(encoder.body(of: calls[start..<end]), spans: spans, &health)
            start = end
        }
    }

    /// Exports one batch, with several attempts unless the export is being stopped.
    private func export(_ body: [UInt8], spans: Int, _ health: inout Health) async {
        var delay = RetryDelay(longest: Self.longestDelay, longestRequested: Self.longestRequestedDelay)
        for attempt in 1...Self.maximumAttempts {
            guard let response = await post(body, spans: spans) else { break }
            switch response {
            case .accepted(let rejected, let message):
                metrics.exported.add(UInt64(spans - rejected))
                metrics.drop(rejected, .rejected)
                report(nil, &health)
                if rejected > 0, !health.hasReportedRejection {
                    health.hasReportedRejection = true
                    let detail = message.isEmpty ? "no reason given" : message
                    logger.warning(
                        "Trace collector rejected spans", metadata: ["spans": "\(rejected)", "detail": "\(detail)"])
                }
                return
            case .rejected(let reason):
                metrics.drop(spans, .rejected)
                return report(reason, &health)
            case .retryable(let reason, let after):
                report(reason, &health)
                if Task.isCancelled || attempt == Self.maximumAttempts {
                    return metrics.drop(spans, Task.isCancelled ? .stopped : .undelivered)
                }
                try? await timing.sleep(delay.next(after: after, jitter: timing.jitter()))
            }
        }
        metrics.drop(spans, .stopped)
    }

    /// Posts a body in a task that a stop does not cancel. Returns nil after `abort()`.
    private func post(_ body: [UInt8], spans: Int) async -> OTLPResponse? {
        let request = abortion.withLock { abortion -> Task<OTLPResponse, Never>? in
            if abortion.isRequested { return nil }
            let request = Task { [collector] in await collector.post(body, spans: spans) }
            abortion.request = request
            return request
        }
        return await request?.value
    }

    /// Logs the first failure after a success, and the first success after a failure.
    private func report(_ reason: String?, _ health: inout Health) {
        if let reason {
            logger.log(
                level: health.isFailing ? .debug : .error, "Trace export failed", metadata: ["detail": "\(reason)"])
        } else if health.isFailing {
            logger.notice("Trace export recovered")
        }
        health.isFailing = reason != nil
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
