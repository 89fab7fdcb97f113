internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// The provider's keys as read last, and the rules for reading them again.
///
/// The keys are read at the start, then every 15 minutes, every 30 seconds after a failure, and for a token with an
/// unknown key at most once in 30 seconds, whoever presents it. One reading is in progress at a time. Keys that could
/// not be read again stay in use for 24 hours.
final class ProviderKeys: Sendable {
    /// The age at which the keys are read again.
    static let refreshInterval = Duration.seconds(15 * 60)
    /// The time between two readings for unknown keys, and the interval of the timer.
    static let demandInterval = Duration.seconds(30)
    /// The age at which keys that could not be read again are no longer used.
    static let maximumAge = Duration.seconds(24 * 3600)
    /// The maximum number of calls that wait for a reading.
    static let maximumWaiting = 64

    /// The keys in use at one moment.
    struct Current: Sendable {
        /// The verifier with the keys; one without keys if there are none.
        let verifier: TokenVerifier
        /// The time at which the provider was asked for these keys; nil if there are none.
        let read: WallTime?
    }

    private struct State {
        var verifier: TokenVerifier
        var read: (wall: WallTime, monotonic: MonotonicInstant)?
        /// The start of the last reading on demand.
        var demanded: MonotonicInstant?
        var failed = false
        var failures = 0
        var reading: Task<Void, Never>?
        var waiting = 0

        func mayStartOnDemand(at now: MonotonicInstant) -> Bool {
            guard let demanded else { return true }
            return demanded.advanced(by: demandInterval) <= now
        }
    }

    private let client: KeyClient
    let rules: ClaimRules
    private let context: PluginContext
    private let state: Mutex<State>
    private let timer = Mutex<Task<Void, Never>?>(nil)

    init(_ client: KeyClient, _ rules: ClaimRules, _ context: PluginContext) {
        self.client = client
        self.rules = rules
        self.context = context
        state = Mutex(State(verifier: TokenVerifier(.empty, rules)))
    }

    deinit { timer.withLock { $0?.cancel() } }

    /// Starts the timer that reads the keys again when they are due.
    func startTimer(interval: Duration = demandInterval) {
        timer.withLock { timer in
            timer?.cancel()
            timer = Task { [weak self] in
                while true {
                    do { try await Task.sleep(for: interval) } catch { return }
                    guard let self else { return }
                    await self.refreshIfDue()
                }
            }
        }
    }

    /// Returns the keys in use. Costs a short lock; safe on any thread.
    func current() -> Current {
        let now = context.clocks.monotonic()
        return state.withLock { state in
            if let read = state.read, read.monotonic.advanced(by: Self.maximumAge) <= now {
                state.verifier = TokenVerifier(.empty, rules)
                state.read = nil
            }
            return Current(verifier: state.verifier, read: state.read?.wall)
        }
    }

    /// Returns whether a token with an unknown key may wait for a reading: one that is in progress, or a new one.
    func mayReadOnDemand() -> Bool {
        let now = context.clocks.monotonic()
        return state.withLock { $0.reading != nil || $0.mayStartOnDemand(at: now) }
    }

    /// Reads the keys on behalf of a token with an unknown key, or waits for the reading in progress.
    ///
    /// - Returns: False if no reading may begin now, or too many calls wait for it.
    func readOnDemand() async -> Bool {
        let now = context.clocks.monotonic()
        let reading = state.withLock { state -> Task<Void, Never>? in
            guard state.waiting < Self.maximumWaiting else { return nil }
            if state.reading == nil {
                guard state.mayStartOnDemand(at: now) else { return nil }
                state.demanded = now
            }
            state.waiting += 1
            return startReading(&state)
        }
        guard let reading else { return false }
        await reading.value
        state.withLock { $0.waiting -= 1 }
        return true
    }

    /// Reads the keys if they are due: after the refresh interval, or if the last reading failed.
    func refreshIfDue() async {
        let now = context.clocks.monotonic()
        let isDue = state.withLock { state in
            guard let read = state.read, !state.failed else { return true }
            return read.monotonic.advanced(by: Self.refreshInterval) <= now
        }
        if isDue { await refresh() }
    }

    /// Reads the keys, or waits for the reading in progress.
    func refresh() async { await state.withLock { startReading(&$0) }.value }

    /// The number of keys, the time of their reading, and the number of failed readings.
    var status: ProviderKeyStatus {
        state.withLock { state in
            ProviderKeyStatus(
                issuer: rules.settings.issuer, count: state.verifier.keys.keys.count, read: state.read?.wall,
                failures: state.failures)
        }
    }

    /// Starts a reading unless one is in progress. Called with the lock held.
    private func startReading(_ state: inout State) -> Task<Void, Never> {
        if let reading = state.reading { return reading }
        let reading = Task { await read() }
        state.reading = reading
        return reading
    }

    private func read() async {
        let started = (context.clocks.wall(), context.clocks.monotonic())
        let result: Result<KeySet, ProviderFailure>
        do throws(ProviderFailure) { result = .success(try await client.keys()) } catch { result = .failure(error) }
        switch result {
        case .success(let keys): replace(with: keys, read: started)
        case .failure(let failure):
            let age = state.withLock { state in
                state.reading = nil
                state.failed = true
                state.failures += 1
                return state.read
            }
            context.logger.warning(
                age == nil ? "Provider keys not read; its tokens cannot be verified" : "Provider keys not read again",
                metadata: ["issuer": "\(rules.settings.issuer)", "reason": "\(failure)"])
        }
    }

    private func replace(with keys: KeySet, read: (WallTime, MonotonicInstant)) {
        let isChanged = state.withLock { state in
            state.reading = nil
            state.failed = false
            // The cache of verified tokens belongs to the keys: with other keys, each token is verified again.
            let isChanged = state.read == nil || keys.digest == nil || state.verifier.keys.digest != keys.digest
            if isChanged { state.verifier = TokenVerifier(keys, rules) }
            state.read = read
            return isChanged
        }
        guard isChanged else { return }
        keys.report(to: context.logger, of: rules.settings.issuer)
    }
}

extension MonotonicInstant {
    /// Returns the instant that is later by the duration.
    func advanced(by duration: Duration) -> MonotonicInstant {
        let (seconds, attoseconds) = duration.components
        return MonotonicInstant(nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

extension KeySet {
    /// Logs the keys, and the mistakes of the provider.
    func report(to logger: Logger, of issuer: String) {
        for mistake in skipped where mistake.isMistake {
            logger.warning("Provider key not used", metadata: ["issuer": "\(issuer)", "reason": "\(mistake)"])
        }
        let ids = keys.map { $0.id ?? "without id" }
        if keys.isEmpty {
            logger.error("Provider has no key that can verify tokens", metadata: ["issuer": "\(issuer)"])
        } else {
            logger.info("Provider keys read", metadata: ["issuer": "\(issuer)", "keys": "\(ids)"])
        }
    }
}
