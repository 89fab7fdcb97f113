internal import GatewayCore
internal import Synchronization

/// Asks a store whether it can still be written, and notices when it does not answer.
///
/// A disk that stands still answers nothing at all: so whoever asks waits for a while only, and one question is under way at a
/// time however many ask.
final class StoreHealthCheck: Sendable {
    private struct State {
        /// When the question that is under way began; nil where none is.
        var began: MonotonicInstant?
        var waiters: [AsyncStream<String?>.Continuation] = []
        /// When the store was found good last.
        var goodSince: MonotonicInstant?
    }

    private let name: String
    private let limit: Duration
    private let reuse: Duration
    private let clocks: Clocks
    private let ask: @Sendable () async -> String?
    private let state = Mutex(State())

    /// A check of a store.
    ///
    /// - Parameters:
    ///   - name: what the store is called where it cannot be written.
    ///   - limit: how long its answer may take.
    ///   - reuse: for how long a good answer is good.
    ///   - ask: returns why the store cannot be written, or nil. Need not return.
    init(
        _ name: String, limit: Duration = .seconds(2), reuse: Duration = .zero, clocks: Clocks,
        ask: @escaping @Sendable () async -> String?
    ) {
        self.name = name
        self.limit = limit
        self.reuse = reuse
        self.clocks = clocks
        self.ask = ask
    }

    /// Returns why the store cannot be written, or nil. Returns after the limit at the latest.
    func obstacle() async -> String? {
        let now = clocks.monotonic()
        let (answers, answer) = AsyncStream<String?>.makeStream()
        let stalled = "\(name): no write has ended for \(limit.formatted)"
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
        let obstacle = await ask().map { "\(name): \($0)" }
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
    /// The duration in seconds, for people.
    fileprivate var formatted: String { "\(Double(components.seconds) + Double(components.attoseconds) / 1e18) s" }
}
