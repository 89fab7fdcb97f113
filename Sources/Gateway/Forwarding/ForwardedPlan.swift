internal import GatewayCore
internal import NIOCore

/// A plan that has been carried out, or not: how it ended. Only forwarding makes one.
struct ForwardedPlan: ~Copyable {
    let plan: UpstreamPlan
    let end: ForwardResult
    /// How long the backend took in all, in milliseconds.
    let milliseconds: Int
    /// How each step ended that sent to a member of an audience.
    let memberEnds: [MemberEnd]

    fileprivate init(
        _ plan: consuming UpstreamPlan, _ end: ForwardResult, milliseconds: Int, memberEnds: [MemberEnd] = []
    ) {
        self.memberEnds = memberEnds
        self.plan = plan
        self.end = end
        self.milliseconds = milliseconds
    }
}

/// How a plan ended. Nothing here is an error: from the record on, every end is an outcome.
struct ForwardResult: Sendable {
    var result: CallResult
    /// The status of the backend's last answer, where there was one.
    var status: Int?
    /// The id that the backend gave last.
    var reserved: RegistrationID?
    /// Whether the backend's id for the handle was another handle's, and the id given last was asked for without one.
    var askedAgain = false
    /// Whether the steps for "gone" were taken.
    var followedGone = false
    /// The update that the ledger was prepared for last; nil where the backend was asked for none.
    var attempt: RegistrationAttempt?
    /// Whether the backend may have carried that update out without having said so.
    var isInDoubt = false
    /// For the log.
    var detail = ""
}

/// The seventh phase: the plan's steps, one after another, at the backend. Never throws, is never cancelled.
struct Forwarding: Sendable {
    let backend: any Backend
    let encoder: UpstreamEncoder
    let profile: BackendProfile.BackendSide
    let ledger: any RegistrationLedger
    let clocks: Clocks
    /// How long the backend may take for one call, all steps together.
    let deadline: TimeAmount

    /// Refuses a call that the backend has no room for: before anybody is asked who makes it, anything is counted or written down,
    /// so that the answer comes at once, whatever else is going on.
    func expectRoom(for parsed: borrowing ParsedCall) throws(Refusal) {
        if case .own = parsed.call { return }
        guard backend.isFull else { return }
        throw Refusal(.overloaded, "too many calls wait for the backend", extra: .retryAfter(seconds: 1))
            .with(parsed.facts)
    }

    func forward(_ recorded: consuming RecordedPlan) async -> ForwardedPlan {
        let start = clocks.monotonic().nanoseconds
        let steps = recorded.plan.steps
        if recorded.plan.audience != nil {
            let ends = await sendToAll(
                steps, of: recorded.plan.facts, caller: recorded.plan.caller.user, from: start)
            return ForwardedPlan(
                recorded.plan, ForwardResult(result: .accepted), milliseconds: 0, memberEnds: ends)
        }
        var run = StepRun(
            call: recorded.plan.facts.call, caller: recorded.plan.caller.user,
            deadline: .uptimeNanoseconds(UInt64(clamping: start)) + deadline, trace: recorded.plan.facts.trace)
        await perform(steps, recorded.plan.purpose, &run)
        let milliseconds = Int((clocks.monotonic().nanoseconds - start) / 1_000_000)
        return ForwardedPlan(recorded.plan, run.end, milliseconds: milliseconds)
    }

    // Inlined, as is what it calls: a layer of `async` more is memory and a look for the executor more.
    @inline(__always)
    private func perform(
        _ steps: [PlannedStep], _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout StepRun
    ) async {
        for planned in steps {
            switch await perform(planned.step, purpose, &run) {
            case .done:
                continue
            case .failed:
                return
            case .gone:
                if planned.ifGone.isEmpty { return }
                run.end.followedGone = true
                for step in planned.ifGone {
                    // What is gone a second time is not looked for a third time.
                    guard case .done = await perform(step, purpose, &run) else { return }
                }
            }
        }
        run.end.result = .accepted
    }

    @inline(__always)
    private func perform(
        _ step: UpstreamStep, _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout StepRun
    ) async -> StepEnd {
        if case .upsert(let target, _) = step, await !prepare(target, purpose, &run) { return .failed }
        let end = await exchange(step, &run)
        guard case .done = end, case .reserve(let handle?) = step, let id = run.end.reserved else { return end }
        return await reserveAgain(id, unlessFor: handle, end, &run)
    }

    /// Has the ledger know of an update before the backend is asked for it.
    ///
    /// - Returns: whether the backend may be asked.
    @inline(never)
    private func prepare(
        _ target: RegistrationTarget, _ purpose: borrowing UpstreamPlan.Purpose, _ run: inout StepRun
    ) async -> Bool {
        switch purpose {
        case .update(let update):
            let known = update.claim.decision.updated
            let wanted: RegistrationID? = if case .known(let id) = target { id } else { run.end.reserved }
            guard let id = wanted else { return true }
            do throws(LedgerUnavailable) {
                let prepared = try await ledger.prepare(
                    id, replacing: id == known ? nil : known, for: update.claim, now: clocks.wall())
                if let prepared {
                    run.end.attempt = prepared
                    return true
                }
            } catch {
                run.end.result = .ledgerUnavailable
                run.end.detail = "ledger: \(error.detail)"
                return false
            }
            // What an earlier step has attempted stays in the result, to be settled.
            run.end.result = .revoked
            run.end.detail = "the caller was revoked before the backend was asked"
            return false
        case .create: return true
        case .delete: return true
        case .send: return true
        }
    }

    /// What the backend has given for a handle may be another handle's; then it is asked for one without.
    @inline(never)
    private func reserveAgain(
        _ id: RegistrationID, unlessFor handle: DeviceHandle, _ end: StepEnd, _ run: inout StepRun
    ) async -> StepEnd {
        do throws(LedgerUnavailable) {
            guard try await ledger.isHeld(id, forAnotherThan: handle) else { return end }
            try await ledger.dropOutdated(id, now: clocks.wall())
        } catch {
            run.end.result = .backendFailed
            run.end.detail = "ledger: \(error.detail)"
            return .failed
        }
        run.end.askedAgain = true
        return await exchange(.reserve(handle: nil), &run)
    }

    @inline(__always)
    func exchange(_ step: UpstreamStep, _ run: inout StepRun) async -> StepEnd {
        guard
            let bytes = encoder.request(
                for: step, caller: run.caller, reserved: run.end.reserved?.text,
                UpstreamEncoder.Origin(call: run.call, trace: run.trace, span: TraceContext.nextSpan()))
        else {
            run.end.detail = "the plan has a step that the backend has no word for"
            return .failed
        }
        let request = RecordedRequest(
            id: run.call, bytes: bytes, mayBeRepeated: step.mayBeRepeated, deadline: run.deadline)
        let answer = await backend.exchange(request)
        return run.take(answer, of: step, by: profile)
    }
}

/// How one step ended.
enum StepEnd: Sendable, Hashable {
    case done
    case gone
    case failed
}

extension UpstreamStep {
    /// Whether the step may be sent once more if the connection died: never a send, since that would notify twice, and no
    /// reservation, since that would leave ids behind.
    var mayBeRepeated: Bool {
        switch self {
        case .upsert, .delete: true
        case .reserve, .send: false
        }
    }
}
