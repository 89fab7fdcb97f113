internal import GatewayCore
internal import GatewaySupport

/// The metrics of the authenticators with one plug-in name: results, durations and cache hits. Lock-free; safe on any
/// thread.
public final class AuthenticatorMetrics: Sendable {
    private enum Outcome: String, CaseIterable {
        case accepted, rejected, unavailable
        case notMine = "not-mine"
    }

    private let clocks: Clocks
    private let accepted = Counter()
    private let rejected = Counter()
    private let unavailable = Counter()
    private let notMine = Counter()
    private let cacheHits = Counter()
    private let cacheMisses = Counter()
    private let durations = Histogram(.latencies)

    init(clocks: Clocks) { self.clocks = clocks }

    /// Returns the monotonic time in nanoseconds.
    func now() -> Int64 { clocks.monotonic().nanoseconds }

    /// Records a result, and the duration since `start`.
    func record(_ outcome: AuthenticationOutcome, since start: Int64) {
        switch outcome {
        case .accepted: accepted.add()
        case .rejected: rejected.add()
        case .unavailable: unavailable.add()
        case .notMine: notMine.add()
        }
        durations.observe(now() - start)
    }

    /// Counts a password whose result was cached or pending, so that the authenticator was not queried.
    func recordCacheHit() { cacheHits.add() }

    /// Counts a password that the authenticator was queried about.
    func recordCacheMiss() { cacheMisses.add() }

    private func count(_ outcome: Outcome) -> Counter {
        switch outcome {
        case .accepted: accepted
        case .rejected: rejected
        case .unavailable: unavailable
        case .notMine: notMine
        }
    }

    /// Returns the metrics of all authenticators, for export.
    static func families(_ all: [PluginName: AuthenticatorMetrics]) -> [MetricFamily] {
        let all = all.sorted { $0.key.text < $1.key.text }
        func name(_ name: PluginName) -> MetricFamily.Label { .init("authenticator", name.text) }
        return [
            MetricFamily(
                "notify_gateway_authenticator_outcomes_total", .counter,
                "Results of credential verifications by authenticators.",
                all.flatMap { entry in
                    Outcome.allCases.map { outcome in
                        (
                            [name(entry.key), .init("outcome", outcome.rawValue)],
                            .number(Double(entry.value.count(outcome).value))
                        )
                    }
                }),
            MetricFamily(
                "notify_gateway_password_cache_lookups_total", .counter,
                "Lookups in the password cache; a hit needs no query of the authenticator.",
                all.flatMap { entry in
                    [("hit", entry.value.cacheHits), ("miss", entry.value.cacheMisses)].map { result, counter in
                        ([name(entry.key), .init("result", result)], .number(Double(counter.value)))
                    }
                }),
            MetricFamily(
                "notify_gateway_authenticator_duration_seconds", .histogram,
                "Duration of credential verifications by authenticators, in seconds.",
                all.map { ([name($0.key)], .histogram($0.value.durations.reading)) }),
        ]
    }
}
