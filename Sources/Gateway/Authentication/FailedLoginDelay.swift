internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// A delay for rejected passwords, so that the response time does not reveal the reason for the rejection.
final class FailedLoginDelay: Sendable {
    private let rules: AuthenticationRules
    private let clocks: Clocks
    private let scheduler: any CallScheduler
    private let randomness: @Sendable () -> UInt64
    private let waiting = Atomic(0)

    /// The name of the limit that rejects further failed logins while too many are delayed.
    static let limitName = "login-delay"

    init(
        rules: AuthenticationRules, clocks: Clocks, scheduler: any CallScheduler,
        randomness: @escaping @Sendable () -> UInt64
    ) {
        self.rules = rules
        self.clocks = clocks
        self.scheduler = scheduler
        self.randomness = randomness
    }

    /// Waits until a password that arrived at `arrival` may be rejected, or until the client disconnects.
    func wait(since arrival: MonotonicInstant, unless clientDisconnect: ClientDisconnect? = nil) async throws(Rejection)
    {
        let spread = UInt64(max(0, rules.failedLoginJitter.nanoseconds))
        let random = Int64(spread == 0 ? 0 : randomness() % (spread + 1))
        let end = arrival.nanoseconds + rules.failedLoginDelay.nanoseconds + random
        let rest = end - clocks.monotonic().nanoseconds
        if rest <= 0 { return }
        guard waiting.add(1, ordering: .relaxed).newValue <= rules.maximumDelayedRejections else {
            waiting.subtract(1, ordering: .relaxed)
            throw Rejection(
                .rateLimited, "too many delayed login rejections",
                extra: .limit(name: Self.limitName, retryAfterSeconds: 1))
        }
        defer { waiting.subtract(1, ordering: .relaxed) }
        let elapsed = AsyncPromise<Void>()
        let timer = scheduler.schedule(after: .nanoseconds(rest)) { elapsed.fulfill(()) }
        clientDisconnect?.watch {
            timer.cancel()
            elapsed.fulfill(())
        }
        await elapsed.get()
        clientDisconnect?.stopWatching()
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
