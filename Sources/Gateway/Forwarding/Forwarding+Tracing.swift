internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

extension Forwarding {
    /// Begins the span of a request to a backend.
    ///
    /// - Returns: The number of the span; nil if the call is not sampled or has made too many requests.
    @inline(never)
    func beginSpan(_ id: UInt64, of step: UpstreamStep, _ bytes: ByteBuffer, _ run: PlanExecution) -> Int? {
        run.spans?.beginRequest(
            UpstreamRequestSpan(
                method: Self.method(of: bytes), step: step.traceName, upstream: run.upstream.name.text), id: id,
            at: clocks.monotonic().nanoseconds)
    }

    /// Ends the span of a request to a backend.
    @inline(never)
    func endSpan(_ number: Int, _ result: BackendResult, _ run: PlanExecution) {
        run.spans?.endRequest(
            number, status: result.response?.status, failure: result.traceFailure, at: clocks.monotonic().nanoseconds)
    }

    /// Returns the method of a serialized request.
    private static func method(of bytes: ByteBuffer) -> HTTPMethod? {
        HTTPMethod(
            rawValue: String(decoding: bytes.readableBytesView.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self))
    }
}

extension UpstreamStep {
    /// The word for the step in spans.
    fileprivate var traceName: String {
        switch self {
        case .reserve: "reserve"
        case .upsert: "upsert"
        case .delete: "delete"
        case .send: "send"
        case .cancel: "cancel"
        }
    }
}

extension BackendResult {
    /// The word in spans for the lack of a response; nil if there is a response.
    fileprivate var traceFailure: String? {
        switch self {
        case .responded: nil
        case .unreachable: "unreachable"
        case .broken: "broken"
        case .timedOut: "timed-out"
        case .gatewayStopped: "gateway-stopped"
        case .circuitOpen: "circuit-open"
        case .overloaded: "overloaded"
        case .withdrawn: "withdrawn"
        }
    }
}
