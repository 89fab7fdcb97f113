internal import GatewayCore
internal import Synchronization

/// The spans of one sampled call, while it is served. Calls that are not sampled have none.
///
/// Times are those of the monotonic clock in nanoseconds, as phases are measured for the metrics. Used on the call's
/// event loop; the lock is for the requests of a send to an audience, which are tasks of their own, and is never
/// contended.
final class CallTrace: Sendable {
    /// The facts about the request in the span of the call.
    struct Request {
        let method: HTTPMethod?
        /// The path of the route; nil if no route matches.
        let route: String?
    }

    /// The start of the call, and the clock of its spans.
    struct Start {
        /// The start on the monotonic clock.
        let monotonic: Int64
        /// The time since 1970 at which the monotonic clock was zero. One reading of the wall clock, so that a change of
        /// the wall clock does not distort durations.
        let zero: Int64
    }

    private struct State {
        var spans: [TraceSpan] = []
        /// The id of the phase in progress.
        var phase = TraceContext.nextSpan()
        var requests = 0
        var omittedRequests = 0
        var rule: String?
    }

    /// The maximum number of requests to backends that have spans.
    static let maximumRequests = 128

    private let trace: TraceContext
    private let call: CallID
    private let id = TraceContext.nextSpan()
    private let request: Request
    private let start: Start
    private let recorder: any SpanRecorder
    private let state = Mutex(State())

    /// Begins the span of a call.
    init(_ trace: TraceContext, of call: CallID, _ request: Request, _ start: Start, to recorder: any SpanRecorder) {
        self.trace = trace
        self.call = call
        self.request = request
        self.start = start
        self.recorder = recorder
        state.withLock { state in
            state.spans.reserveCapacity(Self.usualSpans)
            // The place of the call's own span, which is written last.
            state.spans.append(span(id, parent: trace.parent ?? 0, from: start.monotonic, .phase("")))
        }
    }

    /// A send's: the call, nine phases, one request.
    private static let usualSpans = 11

    /// Ends a phase. The next one begins at the same time.
    func endPhase(_ name: String, from start: Int64, to end: Int64) {
        state.withLock { state in
            var phase = span(state.phase, parent: id, from: start, .phase(name))
            phase.end = end + self.start.zero
            state.spans.append(phase)
            state.phase = TraceContext.nextSpan()
        }
    }

    /// Sets the policy decision, if there is one.
    func setRule(_ rule: String?) {
        if let rule { state.withLock { $0.rule = rule } }
    }

    /// Begins the span of a request to a backend.
    ///
    /// - Parameter id: The span id that the request has in its `traceparent`.
    /// - Returns: The number of the span for ``endRequest(_:status:failure:at:)``; nil if the call has made too many
    ///   requests.
    func beginRequest(_ request: UpstreamRequestSpan, id: UInt64, at time: Int64) -> Int? {
        state.withLock { state in
            guard state.requests < Self.maximumRequests else {
                state.omittedRequests += 1
                return nil
            }
            state.requests += 1
            state.spans.append(span(id, parent: state.phase, from: time, .upstreamRequest(request)))
            return state.spans.count - 1
        }
    }

    /// Ends the span of a request to a backend.
    func endRequest(_ number: Int, status: Int?, failure: String?, at time: Int64) {
        state.withLock { state in
            guard case .upstreamRequest(var request) = state.spans[number].subject else { return }
            request.status = status
            request.failure = failure
            state.spans[number].subject = .upstreamRequest(request)
            state.spans[number].end = time + start.zero
        }
    }

    /// Ends the span of the call and passes all spans on.
    func finish(_ action: Action?, status: Int, _ rejection: RejectionCode?, at time: Int64) {
        let spans = state.withLock { state in
            state.spans[0].end = time + start.zero
            state.spans[0].subject = .call(
                CallSpan(
                    method: request.method, route: request.route, action: action, status: status, rejection: rejection,
                    rule: state.rule, omittedRequests: state.omittedRequests))
            return state.spans
        }
        recorder.record(CallSpans(trace: trace, call: call, spans: spans))
    }

    /// Returns a span without an end.
    private func span(_ id: UInt64, parent: UInt64, from time: Int64, _ subject: TraceSpan.Subject) -> TraceSpan {
        TraceSpan(id: id, parent: parent, start: time + start.zero, end: time + start.zero, subject: subject)
    }
}
