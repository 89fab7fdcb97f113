internal import GatewayHTTP
internal import NIOCore
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
    private let calls = Mutex<CallCaps?>(nil)

    /// An overload that lasts for so long is said: others should get the calls.
    private static let longOverload = TimeAmount.seconds(30)

    /// - Parameter outage: which store is out of order at present and why, or nil.
    init(outage: @escaping @Sendable () -> String?) { self.outage = outage }

    func enter(_ new: State) { state.withLock { $0 = new } }

    /// Says where the calls are counted that an overload refuses.
    func watch(_ caps: CallCaps) { calls.withLock { $0 = caps } }

    /// Why the gateway is not ready, or nil if it is.
    var obstacle: String? { obstacle(now: .now()) }

    func obstacle(now: NIODeadline) -> String? {
        switch state.withLock({ $0 }) {
        case .starting: "starting"
        case .draining: "draining"
        case .serving: outage() ?? overload(now: now)
        }
    }

    private func overload(now: NIODeadline) -> String? {
        guard let time = calls.withLock({ $0?.overloaded(now: now) }), time >= Self.longOverload else { return nil }
        return "overloaded: calls have been refused for \(time.nanoseconds / 1_000_000_000) s"
    }
}
