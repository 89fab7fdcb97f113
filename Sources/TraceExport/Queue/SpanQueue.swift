package import GatewayCore
internal import Synchronization

/// The spans that wait for the export, up to a bound. The request pipeline adds to it.
package final class SpanQueue: SpanRecorder {
    private struct State {
        var calls: [CallSpans] = []
        var spans = 0
        var isOpen = false
    }

    /// The maximum number of spans that wait. As many again may be in the hands of the export.
    package static let maximumSpans = 16_384

    private let state = Mutex(State())
    private let metrics: TraceExportMetrics

    /// Creates a closed queue.
    init(_ metrics: TraceExportMetrics) { self.metrics = metrics }

    /// Adds the spans of a call, all or none. Holds a lock for one append, and never waits for the export.
    package func record(_ spans: CallSpans) {
        let count = spans.spans.count
        let reason = state.withLock { state -> TraceExportMetrics.DropReason? in
            guard state.isOpen else { return .stopped }
            guard state.spans + count <= Self.maximumSpans else { return .queueFull }
            state.calls.append(spans)
            state.spans += count
            return nil
        }
        if let reason { metrics.drop(count, reason) }
    }

    /// The number of spans that wait.
    var count: Int { state.withLock(\.spans) }

    /// Removes and returns everything that waits.
    func removeAll() -> [CallSpans] {
        state.withLock { state in
            let calls = state.calls
            state.calls = []
            state.spans = 0
            return calls
        }
    }

    /// Accepts spans from now on.
    func open() { state.withLock { $0.isOpen = true } }

    /// Accepts no more spans.
    func close() { state.withLock { $0.isOpen = false } }
}
