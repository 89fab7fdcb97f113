internal import Synchronization

/// Whether the gateway takes calls, and if not, why: what `GET /health/ready` answers.
final class Readiness: Sendable {
    enum State: Sendable, Hashable {
        case starting
        case serving
        case draining
    }

    private let state = Mutex(State.starting)
    private let outage: @Sendable () -> String?

    /// - Parameter outage: why calls cannot be recorded at present, or nil.
    init(outage: @escaping @Sendable () -> String?) { self.outage = outage }

    func enter(_ new: State) { state.withLock { $0 = new } }

    /// Why the gateway is not ready, or nil if it is.
    var obstacle: String? {
        switch state.withLock({ $0 }) {
        case .starting: "starting"
        case .draining: "draining"
        case .serving: outage().map { "journal: \($0)" }
        }
    }
}
