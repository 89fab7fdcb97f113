internal import GatewayCore
internal import NIOCore

/// The state of a plan while its steps are forwarded: the id that an earlier step returned, and the result of the plan
/// if no further step succeeds.
struct PlanExecution {
    let call: CallID
    let caller: UserName
    let deadline: NIODeadline
    let trace: TraceContext
    var outcome = ForwardResult(result: .backendFailed)

    /// - Parameter trace: The trace of a trusted peer; nil if the call starts its own.
    init(call: CallID, caller: UserName, deadline: NIODeadline, trace: TraceContext?) {
        self.trace = trace ?? TraceContext(of: call)
        self.call = call
        self.caller = caller
        self.deadline = deadline
    }

    /// Updates the state with the backend's result of a step.
    @inline(never)
    mutating func apply(
        _ result: BackendResult, of step: UpstreamStep, by profile: BackendProfile.BackendSide
    ) -> StepResult {
        if case .upsert = step { outcome.isInDoubt = result.leavesInDoubt(by: profile) }
        switch result {
        case .responded(let response):
            outcome.status = response.status
            return apply(response, of: step, by: profile)
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
        }
        return .failed
    }

    private mutating func apply(
        _ response: BackendResponse, of step: UpstreamStep, by profile: BackendProfile.BackendSide
    ) -> StepResult {
        let succeeded = profile.successStatuses.contains(response.status)
        outcome.result = .backendFailed
        switch step {
        case .reserve:
            outcome.reserved = succeeded ? ReservedIDParser.read(response.body, as: profile.idFormat) : nil
            outcome.detail = succeeded ? "the backend responded with an invalid id" : "status \(response.status)"
            return outcome.reserved == nil ? .failed : .done
        case .upsert:
            outcome.detail = "status \(response.status)"
            return succeeded ? .done : profile.goneStatuses.contains(response.status) ? .gone : .failed
        case .delete:
            outcome.detail = "status \(response.status)"
            // A missing registration counts as deleted. Other statuses, such as a plain 500, are ambiguous.
            if succeeded || response.status == 404 || response.status == 410 { return .done }
            return profile.goneStatuses.contains(response.status) ? .gone : .failed
        case .send:
            outcome.detail = "status \(response.status)"
            return succeeded ? .done : .failed
        }
    }
}

extension BackendResult {
    /// Returns whether the backend may have carried out the request, or may carry it out later, although this result
    /// does not confirm it.
    func leavesInDoubt(by profile: BackendProfile.BackendSide) -> Bool {
        switch self {
        // A 4xx proves that the backend did not act; after a 5xx the push service may have acted.
        case .responded(let response):
            !profile.successStatuses.contains(response.status) && !(400..<500).contains(response.status)
        case .broken, .timedOut, .gatewayStopped: true
        case .unreachable, .circuitOpen, .overloaded: false
        }
    }
}
