internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A plan after forwarding, with its result. Only the forward phase creates one.
struct ForwardedPlan: ~Copyable {
    let plan: UpstreamPlan
    let outcome: ForwardResult
    /// The total duration of the backend requests in milliseconds.
    let milliseconds: Int
    /// The results of the sends to the members of an audience, in the order of the steps.
    let memberResults: [MemberResult]

    fileprivate init(
        _ plan: consuming UpstreamPlan, _ outcome: ForwardResult, milliseconds: Int, memberResults: [MemberResult] = []
    ) {
        self.memberResults = memberResults
        self.plan = plan
        self.outcome = outcome
        self.milliseconds = milliseconds
    }
}

/// The result of a plan. Failures are values too, because every recorded plan gets an outcome.
struct ForwardResult: Sendable {
    var result: CallResult
    /// The status of the backend's last response, if there was one.
    var status: Int?
    /// The id that the backend assigned last.
    var reserved: RegistrationID?
    /// Whether the backend's id for the handle belonged to another handle, so that a further id was requested without a
    /// handle.
    var reservedWithoutHandle = false
    /// The device's other registrations at the backend, which the ledger has marked for deletion or is about to.
    var superseded: [RegistrationID] = []
    /// Whether the alternative steps for a missing registration were performed.
    var usedAlternative = false
    /// The last update that the ledger was prepared for; nil if none was sent.
    var attempt: RegistrationAttempt?
    /// Whether the backend may have carried out that update, or the plan's deletion, without confirming it, or may do so
    /// later.
    var isInDoubt = false
    /// The backend's id of the notification that it accepted.
    var notification: String?
    /// The seconds after which the backend accepts such requests again; nil if it did not state a time.
    var retryAfter: Int?
    /// The detail for the log.
    var detail = ""
}

/// The forward phase: performs the plan's steps at the backend in order. Never throws and is never cancelled.
struct Forwarding: Sendable {
    let upstreams: UpstreamTable
    /// The connections to the upstreams, indexed by `PlannedUpstream.index`.
    let backends: [any Backend]
    let ledger: any RegistrationLedger
    let clocks: Clocks

    /// Rejects a call if its upstream is full. Runs before authentication, limits and recording, so that the response is
    /// immediate.
    func checkCapacity(for parsed: borrowing ParsedCall) throws(Rejection) {
        guard let upstream = upstream(neededBy: parsed.call) else { return }
        if backends[upstream.index].isFull {
            throw Rejection(.overloaded, "too many calls are waiting for the backend", extra: .retryAfter(seconds: 1))
                .with(parsed.facts)
        }
        if let seconds = upstream.codec.pause(of: parsed.call.isSend ? .send : .registration) {
            throw Rejection(.overloaded, "the backend accepts no such calls now", extra: .retryAfter(seconds: seconds))
                .with(parsed.facts)
        }
    }

    /// Returns the upstream that a call needs, as far as that is known before the ledger is read; nil for a call that
    /// needs none, and for a deletion if there are several.
    private func upstream(neededBy call: Call) -> PlannedUpstream? {
        switch call {
        case .send(let send, _): upstreams[send.service]
        case .sendToAudience(let send, _): upstreams[send.service]
        case .registration(.create(let handle)): upstreams.reserving(for: handle)
        case .registration(.update(_, let registration)): upstreams[registration.handle.service]
        case .registration(.delete): upstreams.all.count == 1 ? upstreams.all[0] : nil
        case .local: nil
        }
    }

    /// Performs the steps in order until one fails, and returns the result of the plan.
    ///
    /// - Parameter spans: The spans of the call; nil if it is not sampled.
    func forward(_ recorded: consuming RecordedPlan, _ spans: CallTrace? = nil) async -> ForwardedPlan {
        let start = clocks.monotonic().nanoseconds
        let steps = recorded.plan.steps
        if let text = recorded.plan.secureText, let failure = await store(text, of: recorded.plan.caller) {
            let results = steps.map { _ in MemberResult(outcome: failure, milliseconds: 0) }
            return ForwardedPlan(recorded.plan, failure, milliseconds: 0, memberResults: results)
        }
        if recorded.plan.audience != nil {
            let results = await sendToAll(
                steps, of: recorded.plan.facts, caller: recorded.plan.caller, to: recorded.plan.upstream,
                from: start, spans)
            return ForwardedPlan(
                recorded.plan, ForwardResult(result: .accepted), milliseconds: 0, memberResults: results)
        }
        var run = PlanExecution(
            call: recorded.plan.facts.call, caller: recorded.plan.caller, upstream: recorded.plan.upstream,
            start: start, trace: recorded.plan.facts.trace)
        run.spans = spans
        await perform(steps, recorded.plan.purpose, &run)
        let milliseconds = Int((clocks.monotonic().nanoseconds - start) / 1_000_000)
        return ForwardedPlan(recorded.plan, run.outcome, milliseconds: milliseconds)
    }

    /// Cancels a scheduled send.
    ///
    /// - Returns: `gone` if the backend does not have the notification any more; and the result for the record.
    func cancel(
        _ notification: String, of sender: PlannedCaller, _ facts: CallFacts, _ spans: CallTrace?
    ) async -> (result: StepResult, outcome: ForwardResult) {
        guard let upstream = upstreams.scheduling else {
            return (.failed, ForwardResult(result: .backendFailed, detail: "no upstream schedules sends"))
        }
        var run = PlanExecution(
            call: facts.call, caller: sender, upstream: upstream, start: clocks.monotonic().nanoseconds,
            trace: facts.trace)
        run.spans = spans
        let result = await exchange(.cancel(notification: notification), &run)
        if result == .done { run.outcome.result = .accepted }
        return (result, run.outcome)
    }

    // Inlined, like the functions that it calls: each additional `async` frame costs an allocation and an executor
    // check.
    @inline(__always)
    private func perform(
        _ steps: [PlannedStep], _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout PlanExecution
    ) async {
        for planned in steps {
            switch await perform(planned.step, purpose, &run) {
            case .done:
                continue
            case .failed:
                return
            case .gone:
                if planned.ifGone.isEmpty { return }
                run.outcome.usedAlternative = true
                for step in planned.ifGone {
                    // A second "gone" response is a failure.
                    guard case .done = await perform(step, purpose, &run) else { return }
                }
            }
        }
        run.outcome.result = .accepted
    }

    @inline(__always)
    private func perform(
        _ step: UpstreamStep, _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout PlanExecution
    ) async -> StepResult {
        if case .upsert(let target, _) = step, await !prepare(target, purpose, &run) { return .failed }
        let stepResult = await exchange(step, &run)
        guard case .reserve(let handle?) = step else { return stepResult }
        guard stepResult == .done else { return stepResult }
        return await completeReservation(for: handle, purpose, &run)
    }

    /// Sends the request of one step to the backend and adds its result to `run`.
    @inline(__always)
    func exchange(_ step: UpstreamStep, _ run: inout PlanExecution) async -> StepResult {
        let upstream = run.upstream
        if let withdrawal = run.caller.revocation?.withdrawal { return run.apply(.withdrawn(withdrawal), of: step) }
        if let seconds = upstream.codec.pause(of: step.kind) { return run.postpone(seconds) }
        let span = TraceContext.nextSpan()
        guard
            let bytes = upstream.codec.request(
                for: step, caller: run.caller.user, reserved: run.outcome.reserved?.text,
                RequestOrigin(call: run.call, trace: run.trace, span: span))
        else {
            run.outcome.detail = "the backend does not support the push service"
            return .failed
        }
        let request = RecordedRequest(
            id: run.call, bytes: bytes, isRetryable: step.isRetryable, deadline: run.deadline,
            caller: run.caller.revocation)
        let number = run.spans == nil ? nil : beginSpan(span, of: step, bytes, run)
        let result = await backends[upstream.index].exchange(request)
        if let number { endSpan(number, result, run) }
        return run.apply(result, of: step)
    }
}

extension ForwardResult {
    /// The result of a plan whose next request was not made, because its caller may no longer act.
    init(_ withdrawal: CallerWithdrawal) {
        switch withdrawal {
        case .revoked:
            self.init(result: .revoked, detail: "the caller was revoked before the request to the backend")
        case .unconfirmed:
            // The gateway was frozen since it authenticated the caller, whom another gateway may have revoked.
            self.init(
                result: .ledgerUnavailable, detail: "the store has not confirmed this gateway since the call began")
        }
    }
}
