internal import GatewayCore

/// A timer for the phases of one call. It reads the clock once at each transition.
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

    /// Completes the current phase and starts the next.
    mutating func enter(_ next: CallPhase) {
        let now = metrics.now()
        metrics.observe(now - last, in: phase)
        last = now
        phase = next
    }

    /// Completes the call in its current phase.
    func finish(_ action: Action?, _ rejection: RejectionCode?) {
        let now = metrics.now()
        metrics.observe(now - last, in: phase)
        metrics.count(action, rejection, after: now - start)
    }
}
