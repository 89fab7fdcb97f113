internal import GatewayCore
internal import GatewayHTTP
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import NIOCore
internal import Synchronization

/// The readiness of the gateway for calls, as `GET /health/ready` reports it.
///
/// States: `starting` becomes `serving` or `draining`; `serving` becomes `draining`; `draining` is final.
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

    /// The duration of an overload after which the gateway reports itself as not ready, so a load balancer uses other
    /// gateways.
    private static let longOverload = TimeAmount.seconds(30)

    /// Creates a readiness in the state `starting`.
    ///
    /// - Parameters:
    ///   - stores: The checks of the stores that calls need.
    ///   - loss: Returns which lines of the journal were found missing since the start, or nil.
    init(stores: [StoreHealthCheck], loss: @escaping @Sendable () -> String? = { nil }) {
        self.stores = stores
        self.loss = loss
    }

    func enter(_ new: State) { state.withLock { $0 = new } }

    /// Sets the limit of calls in flight, whose overload counts as an obstacle.
    func watch(_ caps: InFlightLimit) { calls.withLock { $0 = caps } }

    /// A condition that needs an operator's attention but does not prevent service; nil if there is none.
    var warning: String? {
        loss().map { "journal: \($0); notify-gateway audit verify names all of them" }
    }

    /// Returns why the gateway is not ready, or nil if it is. Queries the stores, which takes at most a few seconds.
    func obstacle(now: NIODeadline? = nil) async -> String? {
        switch state.withLock({ $0 }) {
        case .starting: return "starting"
        case .draining: return "draining"
        case .serving: break
        }
        return await storeObstacle() ?? overload(now: now ?? .now())
    }

    /// Returns why a store cannot be written. If several cannot, the first in order counts.
    private func storeObstacle() async -> String? {
        // The checks run concurrently, because each may take its full time limit.
        await withTaskGroup(of: (place: Int, obstacle: String?).self) { tasks in
            for (place, store) in stores.enumerated() { tasks.addTask { (place, await store.obstacle()) } }
            var found = [String?](repeating: nil, count: stores.count)
            for await answer in tasks { found[answer.place] = answer.obstacle }
            return found.compactMap(\.self).first
        }
    }

    private func overload(now: NIODeadline) -> String? {
        guard let time = calls.withLock({ $0?.overloaded(now: now) }), time >= Self.longOverload else { return nil }
        return "overloaded: calls have been rejected for \(time.nanoseconds / 1_000_000_000) s"
    }
}

extension GatewayStores {
    /// Returns the readiness, which depends on whether the stores can be written.
    func readiness(clocks: Clocks) -> Readiness {
        Readiness(
            stores: [
                StoreHealthCheck("journal", clocks: clocks) { [journal] in await journal.check()?.detail },
                // This check commits a transaction, so its result is reused for a second.
                StoreHealthCheck("ledger", reuse: .seconds(1), clocks: clocks) { [ledger] in
                    if let fault = ledger.fault { return fault }
                    return await ledger.check()?.detail
                },
            ]
        ) { [journal] in journal.loss }
    }
}
