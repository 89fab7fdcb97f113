public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The metrics of calls, by action, result, phase, limit and authenticator. They survive reloads of the configuration
/// and are shared by all event loops.
///
/// Recording takes no lock and allocates nothing. The counters are created beforehand: for each action and code at the
/// start, and for each limit and authenticator when a `Gateway` is created.
public final class CallMetrics: Sendable {
    private struct Call: Hashable {
        let action: Action?
        let code: RejectionCode?
    }

    private struct NamedMetrics {
        var limits: [String: Counter] = [:]
        var authenticators: [PluginName: AuthenticatorMetrics] = [:]
        var rules: [String: Counter] = [:]
    }

    /// The durations of the calls of some threads. Each call changes some twenty numbers here, which would cost more
    /// than the rest of its metrics if event loops changed the same ones.
    final class Durations: Sendable {
        fileprivate let calls = Histogram(.latencies)
        fileprivate let phases = CallPhase.allCases.map { _ in Histogram(.latencies) }

        /// Records the duration of one phase of a call, in nanoseconds.
        func observe(_ nanoseconds: Int64, in phase: CallPhase) { phases[phase.index].observe(nanoseconds) }
    }

    private let clocks: Clocks
    private let calls: [Call: Counter]
    /// As many as event loops usually are; exported as their sum.
    private let durations = (0..<8).map { _ in Durations() }
    private let named = Mutex(NamedMetrics())

    /// Creates metrics with all counters at zero.
    public init(clocks: Clocks = .system) {
        self.clocks = clocks
        var calls: [Call: Counter] = [:]
        for action in Action.allCases.map(Optional.some) + [nil] {
            for code in RejectionCode.allCases.map(Optional.some) + [nil] {
                calls[Call(action: action, code: code)] = Counter()
            }
        }
        self.calls = calls
    }

    /// Returns the monotonic time in nanoseconds.
    func now() -> Int64 { clocks.monotonic().nanoseconds }

    /// The durations for a call that is served on the calling thread.
    var durationsOfThread: Durations { durations[ThreadNumber.current & (durations.count - 1)] }

    /// Records a completed call.
    func count(_ action: Action?, _ code: RejectionCode?, after nanoseconds: Int64, in durations: Durations) {
        calls[Call(action: action, code: code)]?.add()
        durations.calls.observe(nanoseconds)
    }

    private func sum(of histogram: (Durations) -> Histogram) -> Histogram.Reading {
        durations.dropFirst().reduce(histogram(durations[0]).reading) { $0 + histogram($1).reading }
    }

    /// Counts a request that was rejected before the pipeline: it was not valid HTTP, or too many calls were in flight.
    /// No duration is recorded.
    func count(_ code: RejectionCode) { calls[Call(action: nil, code: code)]?.add() }

    /// Creates the rejection counters that are missing for `names`. Returns all rejection counters, including those of
    /// earlier configurations, by the limit's name.
    func counters(ofLimits names: [String]) -> [String: Counter] {
        named.withLock { named in
            for name in names where named.limits[name] == nil { named.limits[name] = Counter() }
            return named.limits
        }
    }

    /// Returns the number of sends that each rule of the policy has matched since the start, in the order of the rules. A
    /// rule keeps its count if a reload moves it.
    ///
    /// - Parameter rules: The texts of the rules.
    public func matches(of rules: [String]) -> [Counter] {
        named.withLock { named in
            // The rules of earlier configurations are forgotten, so that reloads do not accumulate them.
            named.rules = Dictionary(rules.map { ($0, named.rules[$0] ?? Counter()) }) { first, _ in first }
            return rules.compactMap { named.rules[$0] }
        }
    }

    /// Returns the metrics of an authenticator; creates them if there are none yet.
    public func authenticator(_ name: PluginName) -> AuthenticatorMetrics {
        named.withLock { named in
            if let known = named.authenticators[name] { return known }
            let new = AuthenticatorMetrics(clocks: clocks)
            named.authenticators[name] = new
            return new
        }
    }

    /// All metrics, for export.
    public var families: [MetricFamily] {
        let named = named.withLock(\.self)
        let counted = calls.compactMap { call, counter -> (labels: [MetricFamily.Label], value: UInt64)? in
            let value = counter.value
            // Most of the hundreds of combinations never occur.
            guard value > 0 else { return nil }
            return (
                [
                    .init("action", call.action?.rawValue ?? "none"),
                    .init("code", RejectionCode.metricLabel(of: call.code)),
                ],
                value
            )
        }
        .sorted { ($0.labels[0].value, $0.labels[1].value) < ($1.labels[0].value, $1.labels[1].value) }
        return [
            MetricFamily(
                "notify_gateway_calls_total", .counter, "Completed calls, by action and result.",
                counted.map { ($0.labels, .number(Double($0.value))) }),
            MetricFamily(
                "notify_gateway_call_duration_seconds", .histogram,
                "Time from the complete request to the response, in seconds.", [([], .histogram(sum(of: \.calls)))]),
            MetricFamily(
                "notify_gateway_phase_duration_seconds", .histogram, "Duration of the phases of calls, in seconds.",
                CallPhase.allCases.map { phase in
                    ([.init("phase", phase.rawValue)], .histogram(sum { $0.phases[phase.index] }))
                }),
            MetricFamily(
                "notify_gateway_limit_rejections_total", .counter, "Calls rejected by a limit.",
                named.limits.sorted { $0.key < $1.key }
                    .map { ([.init("limit", $0.key)], .number(Double($0.value.value))) }),
        ] + AuthenticatorMetrics.families(named.authenticators)
    }
}

/// The phases of a call, as named in metrics.
enum CallPhase: String, Sendable, CaseIterable {
    case parse
    case authenticate
    case authorize
    case deduplicate
    case limit
    case rewrite
    case record
    case forward
    case complete
    /// The gateway's own endpoints, in place of `forward` and `complete`.
    case respond

    /// The index in tables with one element for each phase.
    var index: Int {
        switch self {
        case .parse: 0
        case .authenticate: 1
        case .authorize: 2
        case .deduplicate: 3
        case .limit: 4
        case .rewrite: 5
        case .record: 6
        case .forward: 7
        case .complete: 8
        case .respond: 9
        }
    }
}

/// A timer for the phases of one call. It reads the clock once at each transition, for the metrics and the spans.
struct PhaseTimer {
    private let metrics: CallMetrics
    private let durations: CallMetrics.Durations
    /// The start of the call on the monotonic clock, in nanoseconds.
    let start: Int64
    /// The spans of the call; nil if it is not sampled.
    var spans: CallTrace?
    private var last: Int64
    private var phase = CallPhase.parse

    init(_ metrics: CallMetrics) {
        self.metrics = metrics
        durations = metrics.durationsOfThread
        start = metrics.now()
        last = start
    }

    /// Completes the current phase and starts the next.
    mutating func enter(_ next: CallPhase) {
        let now = metrics.now()
        durations.observe(now - last, in: phase)
        spans?.endPhase(phase.rawValue, from: last, to: now)
        last = now
        phase = next
    }

    /// Ends the current phase and records the completed call.
    func finish(_ action: Action?, status: Int, _ rejection: RejectionCode?) {
        let now = metrics.now()
        durations.observe(now - last, in: phase)
        metrics.count(action, rejection, after: now - start, in: durations)
        guard let spans else { return }
        spans.endPhase(phase.rawValue, from: last, to: now)
        spans.finish(action, status: status, rejection, at: now)
    }
}

extension RejectionCode {
    /// Returns the metric label of a call's result; `ok` if the call was carried out. The only mapping from codes to
    /// labels.
    static func metricLabel(of code: RejectionCode?) -> String { code?.rawValue ?? "ok" }
}
