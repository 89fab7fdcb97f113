internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// Checks whether a store can still be written, with a time limit.
///
/// A disk that hangs never returns. A caller therefore waits for the limit only, and one check runs at a time for all
/// callers.
final class StoreHealthCheck: Sendable {
    private struct State {
        /// The start of the check in progress; nil if none is.
        var began: MonotonicInstant?
        var waiters: [AsyncStream<String?>.Continuation] = []
        /// The time of the last successful check.
        var goodSince: MonotonicInstant?
    }

    private let name: String
    private let limit: Duration
    private let reuse: Duration
    private let clocks: Clocks
    private let query: @Sendable () async -> String?
    private let state = Mutex(State())

    /// Creates a check of a store.
    ///
    /// - Parameters:
    ///   - name: The name of the store in messages.
    ///   - limit: The maximum duration of a check.
    ///   - reuse: The time for which a successful result is reused.
    ///   - query: Returns why the store cannot be written, or nil. It may never return.
    init(
        _ name: String, limit: Duration = .seconds(2), reuse: Duration = .zero, clocks: Clocks,
        query: @escaping @Sendable () async -> String?
    ) {
        self.name = name
        self.limit = limit
        self.reuse = reuse
        self.clocks = clocks
        self.query = query
    }

    /// Returns why the store cannot be written, or nil. Returns at the latest after the limit.
    func obstacle() async -> String? {
        let now = clocks.monotonic()
        let (answers, answer) = AsyncStream<String?>.makeStream()
        let stalled = "\(name): no write has completed for \(limit.formatted)"
        enum Step { case known(String?), wait, begin }
        let step = state.withLock { state -> Step in
            if let good = state.goodSince, Self.distance(good, now) < reuse { return .known(nil) }
            guard let began = state.began else {
                state.began = now
                state.waiters.append(answer)
                return .begin
            }
            if Self.distance(began, now) >= limit { return .known(stalled) }
            state.waiters.append(answer)
            return .wait
        }
        switch step {
        case .known(let obstacle): return obstacle
        case .begin: Task { await complete() }
        case .wait: break
        }
        let timer = Task { [limit] in
            try? await Task.sleep(for: limit)
            answer.yield(stalled)
        }
        defer { timer.cancel() }
        for await obstacle in answers { return obstacle }
        return stalled
    }

    private func complete() async {
        let obstacle = await query().map { "\(name): \($0)" }
        let waiters = state.withLock { state in
            defer { (state.began, state.waiters) = (nil, []) }
            state.goodSince = obstacle == nil ? clocks.monotonic() : nil
            return state.waiters
        }
        for waiter in waiters { waiter.yield(obstacle) }
    }

    private static func distance(_ from: MonotonicInstant, _ to: MonotonicInstant) -> Duration {
        .nanoseconds(to.nanoseconds - from.nanoseconds)
    }
}

extension Duration {
    /// The duration in seconds, for messages.
    fileprivate var formatted: String { "\(Double(components.seconds) + Double(components.attoseconds) / 1e18) s" }
}
