internal import GatewayCore
internal import GatewaySupport

/// Decides which calls are sampled, and starts their spans. There is none while tracing is turned off.
///
/// A class, so that the pipeline tests one reference.
final class CallTracer: Sendable {
    private let sampling: TraceSampling
    private let recorder: any SpanRecorder
    private let clocks: Clocks

    init(_ sampling: TraceSampling, recorder: any SpanRecorder, clocks: Clocks) {
        self.sampling = sampling
        self.recorder = recorder
        self.clocks = clocks
    }

    /// Starts the spans of a call if it is sampled, and marks its trace as sampled then; otherwise returns nil and
    /// changes nothing. Calls that are not sampled cost neither a lock nor an allocation.
    ///
    /// - Parameters:
    ///   - routes: The routes, for the name of the span.
    ///   - start: The start of the call on the monotonic clock, in nanoseconds.
    @inline(never)
    func start(
        _ facts: inout CallFacts, of request: ReceivedRequest, _ routes: RouteTable, at start: Int64
    ) -> CallTrace? {
        let trace = facts.trace ?? TraceContext(of: facts.call)
        // A client may have chosen the id of a parent that is not followed.
        guard sampling.selects(sampling.followsParent ? trace : TraceContext(of: facts.call)) else { return nil }
        facts.trace = trace.sampled
        let wall = clocks.wall().microseconds * 1000
        return CallTrace(
            trace.sampled, of: facts.call,
            CallTrace.Request(method: request.method, route: routes.template(of: request)),
            CallTrace.Start(monotonic: start, zero: wall - clocks.monotonic().nanoseconds), to: recorder)
    }
}
