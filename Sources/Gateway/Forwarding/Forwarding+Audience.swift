internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The result of the send to one member of an audience.
struct MemberResult: Sendable {
    var outcome: ForwardResult
    var milliseconds: Int
}

extension Forwarding {
    /// The maximum number of concurrent sends to the members of an audience.
    static let maximumConcurrentSends = 16
    /// The maximum time for all sends to the members of an audience. Shorter than the timeout of clients, so that
    /// the response with the counts reaches them.
    static let audienceDeadline = TimeAmount.seconds(55)

    /// Sends to each member once, with limited concurrency, and returns the results in the order of `steps`. The
    /// deadline is counted from `start`, a monotonic time in nanoseconds. The tasks are children of the call's task and
    /// so run on its event loop.
    func sendToAll(
        _ steps: [PlannedStep], of facts: CallFacts, caller: PlannedCaller, to upstream: PlannedUpstream,
        from start: Int64, _ spans: CallTrace?
    ) async -> [MemberResult] {
        var first = PlanExecution(
            call: facts.call, caller: caller, upstream: upstream, start: start, limit: Self.audienceDeadline,
            trace: facts.trace)
        first.spans = spans
        let run = first
        return await withTaskGroup(of: (Int, MemberResult).self) { group in
            var results = [MemberResult?](repeating: nil, count: steps.count)
            var next = 0
            func startNext() {
                guard next < steps.count else { return }
                let (index, step) = (next, steps[next].step)
                next += 1
                group.addTask { (index, await send(step, run)) }
            }
            for _ in 0..<Self.maximumConcurrentSends { startNext() }
            while let (index, result) = await group.next() {
                results[index] = result
                startNext()
            }
            return results.compactMap(\.self)
        }
    }

    private func send(_ step: UpstreamStep, _ run: PlanExecution) async -> MemberResult {
        let start = clocks.monotonic().nanoseconds
        var run = run
        guard NIODeadline.uptimeNanoseconds(UInt64(clamping: start)) < run.deadline else {
            // No byte was sent, so the outcome of this send is certain.
            run.outcome.result = .overloaded
            run.outcome.detail = "not sent before the deadline"
            return MemberResult(outcome: run.outcome, milliseconds: 0)
        }
        if case .done = await exchange(step, &run) { run.outcome.result = .accepted }
        return MemberResult(
            outcome: run.outcome, milliseconds: Int((clocks.monotonic().nanoseconds - start) / 1_000_000))
    }
}
