internal import GatewayCore
internal import NIOCore

/// How the send to one member of an audience ended.
struct MemberEnd: Sendable {
    var end: ForwardResult
    var milliseconds: Int
}

extension Forwarding {
    /// How many sends to the members of an audience are under way at a time.
    static let audienceWidth = 16
    /// How long all sends to the members of an audience may take together. Less than a client's own patience, which is told how
    /// many were reached.
    static let audienceTime = TimeAmount.seconds(55)

    /// Sends to the members, each once, some at a time. The tasks are children of the call's and so stay on its loop.
    func sendToAll(
        _ steps: [PlannedStep], of facts: CallFacts, caller: UserName, from start: Int64
    ) async -> [MemberEnd] {
        let until = NIODeadline.uptimeNanoseconds(UInt64(clamping: start)) + min(deadline, Self.audienceTime)
        return await withTaskGroup(of: (Int, MemberEnd).self) { group in
            var ends = [MemberEnd?](repeating: nil, count: steps.count)
            var next = 0
            func startNext() {
                guard next < steps.count else { return }
                let (index, step) = (next, steps[next].step)
                next += 1
                group.addTask { (index, await send(step, of: facts, caller: caller, until: until)) }
            }
            for _ in 0..<Self.audienceWidth { startNext() }
            while let (index, end) = await group.next() {
                ends[index] = end
                startNext()
            }
            return ends.compactMap(\.self)
        }
    }

    private func send(
        _ step: UpstreamStep, of facts: CallFacts, caller: UserName, until: NIODeadline
    ) async -> MemberEnd {
        let start = clocks.monotonic().nanoseconds
        var run = StepRun(call: facts.call, caller: caller, deadline: until, trace: facts.trace)
        guard NIODeadline.uptimeNanoseconds(UInt64(clamping: start)) < until else {
            // The backend never heard of it, and so it is not a send whose end is unknown.
            run.end.result = .overloaded
            run.end.detail = "its turn did not come in time"
            return MemberEnd(end: run.end, milliseconds: 0)
        }
        if case .done = await exchange(step, &run) { run.end.result = .accepted }
        return MemberEnd(
            end: run.end, milliseconds: Int((clocks.monotonic().nanoseconds - start) / 1_000_000))
    }
}
