internal import GatewayCore
internal import NIOCore

/// The state of a plan while its steps are forwarded: the id that an earlier step returned, and the result of the plan
/// if no further step succeeds.
struct PlanExecution {
    let call: CallID
    let caller: PlannedCaller
    let upstream: PlannedUpstream
    let deadline: NIODeadline
    let trace: TraceContext
    /// The spans of the call; nil if it is not sampled.
    var spans: CallTrace?
    var outcome = ForwardResult(result: .backendFailed)
    /// The registrations that the last reservation listed.
    private(set) var listed: [RegistrationID] = []

    /// - Parameters:
    ///   - start: The monotonic time in nanoseconds from which the upstream's time limit counts.
    ///   - limit: A shorter time limit; nil for none.
    ///   - trace: The trace of a trusted peer; nil if the call starts its own.
    init(
        call: CallID, caller: PlannedCaller, upstream: PlannedUpstream, start: Int64, limit: TimeAmount? = nil,
        trace: TraceContext?
    ) {
        self.trace = trace ?? TraceContext(of: call)
        self.call = call
        self.caller = caller
        self.upstream = upstream
        let limit = limit.map { min($0, upstream.deadline) } ?? upstream.deadline
        deadline = .uptimeNanoseconds(UInt64(clamping: start)) + limit
    }

    /// Updates the state with the backend's result of a step.
    @inline(never)
    mutating func apply(_ result: BackendResult, of step: UpstreamStep) -> StepResult {
        let decoded = result.response.map { upstream.codec.decode($0, to: step) }
        switch step {
        case .upsert, .delete: outcome.isInDoubt = result.leavesInDoubt(isDone: decoded?.result == .done)
        case .reserve, .send, .cancel: break
        }
        if let decoded, let status = result.response?.status { return apply(decoded, status) }
        switch result {
        case .responded: break
        case .unreachable(let detail):
            // An earlier step may have reached the backend.
            outcome.result = outcome.status == nil ? .backendUnreachable : .backendFailed
            outcome.detail = detail
        case .broken(let detail):
            outcome.result = .backendFailed
            outcome.detail = detail
        case .timedOut:
            outcome.result = .backendTimedOut
            outcome.detail = "no response before the deadline"
        case .gatewayStopped:
            outcome.result = .unknownAtStop
            outcome.detail = "the gateway stopped before the response"
        case .circuitOpen:
            outcome.result = outcome.status == nil ? .overloaded : .backendFailed
            outcome.detail = "the backend is unreachable"
        case .overloaded:
            outcome.result = outcome.status == nil ? .overloaded : .backendFailed
            outcome.detail = "all connections are in use"
        case .withdrawn(let withdrawal):
            let failure = ForwardResult(withdrawal)
            (outcome.result, outcome.detail) = (failure.result, failure.detail)
        }
        return .failed
    }

    private mutating func apply(_ decoded: DecodedResponse, _ status: Int) -> StepResult {
        let isFirst = outcome.status == nil
        outcome.status = status
        outcome.detail = decoded.detail
        outcome.retryAfter = decoded.retryAfter
        outcome.result = isFirst && decoded.retryAfter != nil ? .overloaded : .backendFailed
        if let id = decoded.reserved { outcome.reserved = id }
        listed = decoded.listed
        outcome.notification = decoded.notification
        return decoded.result
    }

    /// Updates the state for a step that is not requested, because the backend has asked for a pause.
    @inline(never)
    mutating func postpone(_ seconds: Int) -> StepResult {
        outcome.result = outcome.status == nil ? .overloaded : .backendFailed
        outcome.retryAfter = seconds
        outcome.detail = "the backend accepts no such requests for \(seconds) s"
        return .failed
    }
}

extension BackendResult {
    /// The response; nil if there is none.
    var response: BackendResponse? {
        if case .responded(let response) = self { response } else { nil }
    }

    /// Returns whether the backend may have carried out the request, or may carry it out later, although this result
    /// does not confirm it.
    ///
    /// - Parameter isDone: Whether the response, if there is one, confirms it.
    fileprivate func leavesInDoubt(isDone: Bool) -> Bool {
        switch self {
        // A 4xx proves that the backend did not act; after a 5xx the push service may have acted.
        case .responded(let response): !isDone && !(400..<500).contains(response.status)
        case .broken, .timedOut, .gatewayStopped: true
        case .unreachable, .circuitOpen, .overloaded, .withdrawn: false
        }
    }
}
