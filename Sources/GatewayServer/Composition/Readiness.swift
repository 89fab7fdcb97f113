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
    private let stores: [StoreHealthCheck]
    private let loss: @Sendable () -> String?
    private let calls = Mutex<InFlightLimit?>(nil)

    /// An overload that lasts for so long is said: others should get the calls.
    private static let longOverload = TimeAmount.seconds(30)

    /// - Parameters:
    ///   - stores: what must be written for calls to be served.
    ///   - loss: which lines of the journal were found missing since the start, or nil.
    init(stores: [StoreHealthCheck], loss: @escaping @Sendable () -> String? = { nil }) {
        self.stores = stores
        self.loss = loss
    }

    func enter(_ new: State) { state.withLock { $0 = new } }

    /// Says where the calls are counted that an overload refuses.
    func watch(_ caps: InFlightLimit) { calls.withLock { $0 = caps } }

    /// What does not keep the gateway from serving, and somebody has to look at; nil where nothing is.
    var warning: String? {
        loss().map { "journal: \($0); notify-gateway audit verify names all of them" }
    }

    /// Returns why the gateway is not ready, or nil if it is. Asks the stores, for some seconds at most.
    func obstacle(now: NIODeadline? = nil) async -> String? {
        switch state.withLock({ $0 }) {
        case .starting: return "starting"
        case .draining: return "draining"
        case .serving: break
        }
        return await storeObstacle() ?? overload(now: now ?? .now())
    }

    /// Why a store cannot be written; of several the first.
    private func storeObstacle() async -> String? {
        // All at once: each may take its whole time.
        await withTaskGroup(of: (place: Int, obstacle: String?).self) { tasks in
            for (place, store) in stores.enumerated() { tasks.addTask { (place, await store.obstacle()) } }
            var found = [String?](repeating: nil, count: stores.count)
            for await answer in tasks { found[answer.place] = answer.obstacle }
            return found.compactMap(\.self).first
        }
    }

    private func overload(now: NIODeadline) -> String? {
        guard let time = calls.withLock({ $0?.overloaded(now: now) }), time >= Self.longOverload else { return nil }
        return "overloaded: calls have been refused for \(time.nanoseconds / 1_000_000_000) s"
    }
}
