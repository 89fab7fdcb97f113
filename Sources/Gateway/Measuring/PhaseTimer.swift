internal import GatewayCore

/// How long each phase of one call takes: one reading of the clock where a phase ends and the next begins.
struct PhaseTimer {
    private let metrics: CallMetrics
    private let start: Int64
    private var last: Int64
    private var phase = CallPhase.parse

    init(_ metrics: CallMetrics) {
        self.metrics = metrics
        start = metrics.now()
        last = start
    }

    /// The phase so far has ended, and the next begins.
    mutating func enter(_ next: CallPhase) {
        let now = metrics.now()
        metrics.observe(now - last, in: phase)
        last = now
        phase = next
    }

    /// The call has ended, in the phase that it is in.
    func end(_ action: Action?, _ refusal: RefusalCode?) {
        let now = metrics.now()
        metrics.observe(now - last, in: phase)
        metrics.count(action, refusal, after: now - start)
    }
}
