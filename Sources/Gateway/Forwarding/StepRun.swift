internal import GatewayCore
internal import NIOCore

/// A plan under way: what it was given so far, and how it would end if it ended now.
struct StepRun {
    let call: CallID
    let caller: UserName
    let deadline: NIODeadline
    let trace: TraceContext
    var end = ForwardResult(result: .backendFailed)

    /// - Parameter trace: the trace that the call belongs to; nil where it begins its own.
    init(call: CallID, caller: UserName, deadline: NIODeadline, trace: TraceContext?) {
        self.trace = trace ?? TraceContext(of: call)
        self.call = call
        self.caller = caller
        self.deadline = deadline
    }

    /// Takes the backend's answer to a step.
    @inline(never)
    mutating func take(
        _ answer: BackendAnswer, of step: UpstreamStep, by profile: BackendProfile.BackendSide
    ) -> StepEnd {
        if case .upsert = step { end.isInDoubt = answer.leavesInDoubt(by: profile) }
        switch answer {
        case .answered(let response):
            end.status = response.status
            return take(response, of: step, by: profile)
        case .unreachable(let detail):
            // An earlier step may have reached it.
            end.result = end.status == nil ? .backendUnreachable : .backendFailed
            end.detail = detail
        case .broken(let detail):
            end.result = .backendFailed
            end.detail = detail
        case .timedOut:
            end.result = .backendTimedOut
            end.detail = "no answer in time"
        case .cutOff:
            end.result = .unknownAtStop
            end.detail = "the gateway stopped first"
        case .suspended:
            end.result = end.status == nil ? .overloaded : .backendFailed
            end.detail = "no address of the backend can be reached"
        case .overloaded:
            end.result = end.status == nil ? .overloaded : .backendFailed
            end.detail = "all connections are in use"
        }
        return .failed
    }

    private mutating func take(
        _ response: BackendResponse, of step: UpstreamStep, by profile: BackendProfile.BackendSide
    ) -> StepEnd {
        let succeeded = profile.successStatuses.contains(response.status)
        end.result = .backendFailed
        switch step {
        case .reserve:
            end.reserved = succeeded ? ReservedID.read(response.body, as: profile.idForm) : nil
            end.detail = succeeded ? "the backend's id is not one" : "status \(response.status)"
            return end.reserved == nil ? .failed : .done
        case .upsert:
            end.detail = "status \(response.status)"
            return succeeded ? .done : profile.goneStatuses.contains(response.status) ? .gone : .failed
        case .delete:
            end.detail = "status \(response.status)"
            // What is not there is deleted; whatever else may mean that, such as a plain 500, can mean anything.
            if succeeded || response.status == 404 || response.status == 410 { return .done }
            return profile.goneStatuses.contains(response.status) ? .gone : .failed
        case .send:
            end.detail = "status \(response.status)"
            return succeeded ? .done : .failed
        }
    }
}

extension BackendAnswer {
    /// Whether a request that was not carried out by this answer may have been carried out all the same, or may yet be.
    func leavesInDoubt(by profile: BackendProfile.BackendSide) -> Bool {
        switch self {
        // A 4xx is the backend's word that it did not act; behind a 5xx the push service may have.
        case .answered(let response):
            !profile.successStatuses.contains(response.status) && !(400..<500).contains(response.status)
        case .broken, .timedOut, .cutOff: true
        case .unreachable, .suspended, .overloaded: false
        }
    }
}
