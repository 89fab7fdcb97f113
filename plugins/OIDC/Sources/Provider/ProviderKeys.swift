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
        /// The number of changes of the keys, or of their time, before this moment.
        fileprivate let version: UInt64
    }

    private struct State {
        var verifier: TokenVerifier
        var read: (wall: WallTime, instant: MonotonicInstant)?
        var version: UInt64 = 0
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
        let now = context.clocks.sinceBoot()
        return state.withLock { current(&$0, now) }
    }

    private func current(_ state: inout State, _ now: MonotonicInstant) -> Current {
        if let read = state.read, read.instant.advanced(by: Self.maximumAge) <= now {
            state.verifier = TokenVerifier(.empty, rules)
            state.read = nil
            state.version += 1
        }
        return Current(verifier: state.verifier, read: state.read?.wall, version: state.version)
    }

    /// Verifies a token with the keys in use, and reads them again if that may help. A token is never rejected by keys that
    /// have changed meanwhile.
    ///
    /// - Parameter verify: Verifies the token. Called once for each version of the keys.
    /// - Returns: The result with the keys that decided it; nil if too many calls wait for a reading.
    func verify<Result: KeyDependentResult>(_ verify: (TokenVerifier) -> Result) async -> (Result, Current)? {
        while true {
            switch attempt(verify) {
            case .decided(let result, let current): return (result, current)
            case .needsReading(let used):
                switch demandReading(after: used) {
                case .changed, .refused: continue
                case .full: return nil
                case .reading(let reading):
                    await reading.value
                    state.withLock { $0.waiting -= 1 }
                }
            }
        }
    }

    /// Verifies a token as `verify` does, without waiting; returns nil if a reading of the keys may help.
    func verifyImmediately<Result: KeyDependentResult>(_ verify: (TokenVerifier) -> Result) -> (Result, Current)? {
        switch attempt(verify) {
        case .decided(let result, let current): (result, current)
        case .needsReading: nil
        }
    }

    private enum Attempt<Result> {
        case decided(Result, Current)
        /// The token's key is unknown in these keys, and a reading is in progress or may begin.
        case needsReading(Current)
    }

    /// Verifies a token with the keys in use, again whenever they changed before it was known that no reading may begin.
    private func attempt<Result: KeyDependentResult>(_ verify: (TokenVerifier) -> Result) -> Attempt<Result> {
        var used = current()
        while true {
            let result = verify(used.verifier)
            guard result.mayDifferWithOtherKeys else { return .decided(result, used) }
            let now = context.clocks.sinceBoot()
            let (present, mayRead) = state.withLock { state in
                (current(&state, now), state.reading != nil || state.mayStartOnDemand(at: now))
            }
            if present.version == used.version {
                return mayRead && result.isOfUnknownKey ? .needsReading(used) : .decided(result, used)
            }
            used = present
        }
    }

    private enum Demand {
        /// The keys have changed since they were used, so they decide.
        case changed
        /// No reading may begin now.
        case refused
        /// Too many calls wait for a reading. The caller does not wait.
        case full
        /// The reading to wait for. The caller counts as waiting.
        case reading(Task<Void, Never>)
    }

    /// Starts a reading on behalf of a token with an unknown key, or joins the one in progress.
    private func demandReading(after used: Current) -> Demand {
        let now = context.clocks.sinceBoot()
        return state.withLock { state in
            if state.version != used.version { return .changed }
            if state.reading == nil, !state.mayStartOnDemand(at: now) { return .refused }
            guard state.waiting < Self.maximumWaiting else { return .full }
            if state.reading == nil { state.demanded = now }
            state.waiting += 1
            return .reading(startReading(&state))
        }
    }

    /// Reads the keys if they are due: after the refresh interval, or if the last reading failed.
    func refreshIfDue() async {
        let now = context.clocks.sinceBoot()
        let isDue = state.withLock { state in
            guard let read = state.read, !state.failed else { return true }
            return read.instant.advanced(by: Self.refreshInterval) <= now
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
        let started = (context.clocks.wall(), context.clocks.sinceBoot())
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

    /// Uses other keys from now on. Called at the end of a reading, and by tests.
    func replace(with keys: KeySet, read: (WallTime, MonotonicInstant)) {
        let isChanged = state.withLock { state in
            state.reading = nil
            state.failed = false
            // The cache of verified tokens belongs to the keys: with other keys, each token is verified again.
            let isChanged = state.read == nil || keys.digest == nil || state.verifier.keys.digest != keys.digest
            if isChanged { state.verifier = TokenVerifier(keys, rules) }
            state.read = read
            state.version += 1
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
