internal import Charts
internal import GatewayCore
package import GatewaySupport
internal import Hummingbird

/// The state of the gateway that the overview shows.
package struct ConsoleHealth: Sendable {
    /// Why the gateway is not ready; nil if it is.
    package var obstacle: String?
    /// A condition that needs attention but does not prevent service; nil if there is none.
    package var warning: String?
    /// The backends by address, each with a word for its state and whether that is good.
    package var backends: [(name: String, state: String, isGood: Bool)]
    /// The number of the next journal record.
    package var records: UInt64
    /// The latest checkpoint of the journal; nil if there is none yet.
    package var checkpoint: (time: WallTime, through: UInt64)?

    /// Creates a state.
    package init(
        obstacle: String?, warning: String?, backends: [(name: String, state: String, isGood: Bool)], records: UInt64,
        checkpoint: (time: WallTime, through: UInt64)?
    ) {
        self.obstacle = obstacle
        self.warning = warning
        self.backends = backends
        self.records = records
        self.checkpoint = checkpoint
    }
}

/// The overview: whether the gateway works, and what happens now.
struct OverviewPages: Sendable {
    let queries: ConsoleQueries
    let renderer: PageRenderer
    let health: @Sendable () async -> ConsoleHealth
    /// Returns the time of day.
    let now: @Sendable () -> WallTime

    /// Shows the overview.
    func overview(_ request: Request, _ context: ConsoleContext) async throws -> Response {
        let user = try context.user()
        let requester = try context.requester()
        let health = await health()
        let calls = try await latestCalls(by: requester)
        let (sends, refusals) = (calls.sends, calls.refusals)
        var model: PageModel = [
            "isReady": health.obstacle == nil, "obstacle": health.obstacle ?? "",
            "backends": health.backends.map { backend -> PageModel in
                ["name": backend.name, "state": backend.state, "mark": backend.isGood ? "good" : "bad"]
            },
            "records": PageValues.number(health.records), "rows": sends.map(CallRows.send),
            "isEmpty": sends.isEmpty && calls.obstacle == nil,
            "refusals": refusals.map(CallRows.refusal), "hasRefusals": !refusals.isEmpty, "live": "/live?kind=all",
            "isSends": true,
        ]
        if let minutes = try await minutes(by: requester) { model.merge(minutes) { _, new in new } }
        if let warning = health.warning { model["warning"] = warning }
        if let obstacle = calls.obstacle { model["callsObstacle"] = obstacle }
        if let checkpoint = health.checkpoint {
            model["checkpoint"] = PageValues.time(checkpoint.time.description)
            model["signed"] = PageValues.number(checkpoint.through)
        }
        return renderer.page("overview", title: "Overview", for: user, model)
    }

    /// Returns the latest sends and refusals, or why they cannot be read: the rest of the page is needed most then.
    private func latestCalls(
        by requester: Operator
    ) async throws(ConsoleProblem) -> (sends: [JSONValue], refusals: [JSONValue], obstacle: String?) {
        do throws(ConsoleProblem) {
            return (
                try await queries.list("sends list", limit: 12, by: requester).items,
                try await queries.list("refusals list", limit: 6, by: requester).items, nil
            )
        } catch {
            guard error.status == .serviceUnavailable else { throw error }
            return ([], [], error.detail)
        }
    }

    /// Returns the rates and durations of the last hour; nil if the statistics have not begun.
    private func minutes(by requester: Operator) async throws -> PageModel? {
        let end = now().seconds / 60 * 60 + 60
        let found: JSONValue?
        do throws(ConsoleProblem) {
            found = try await queries.perform(
                "statistics minutes", [("since", "\(WallTime(seconds: end - 3600))")], by: requester)
        } catch {
            // The rest of the page is needed most when something is unavailable.
            return nil
        }
        let minutes = (found?["minutes"]?.items ?? []).suffix(60).map(CountedMinute.init)
        guard !minutes.isEmpty else { return nil }
        let bounds = (found?["latency_bounds_ms"]?.items ?? []).compactMap(\.integer).map { Double($0) / 1000 }
        let durations = CountedMinute.durations(minutes, bounds: bounds)
        let histogram = HistogramChart(noun: "sends", buckets: durations)
        let start = WallTime(seconds: end - 60 * Int64(minutes.count))
        let note = found?["complete"] == .bool(false) ? " (not all are counted yet)" : ""
        let rates = TimeChart(
            start: start, interval: 60, unit: "per minute",
            series: [
                TimeSeries(name: "accepted", values: minutes.map { Double($0.accepted) }),
                TimeSeries(name: "refused", values: minutes.map { Double($0.refused) }),
                TimeSeries(name: "failed", values: minutes.map { Double($0.failed) }),
            ])
        return [
            "charts": [
                "rates": rates.responsive(id: "rates", title: "Calls per minute in the last hour\(note)"),
                "latency": histogram.responsive(id: "latency", title: "Time of sends in the last hour\(note)"),
            ] as PageModel,
            "rate": [
                "sends": PageValues.number(minutes.reduce(0) { $0 + $1.accepted }),
                "refusals": PageValues.number(minutes.reduce(0) { $0 + $1.refused }),
                "failures": PageValues.number(minutes.reduce(0) { $0 + $1.failed }),
                "p50": CountedMinute.quantile(0.5, durations), "p99": CountedMinute.quantile(0.99, durations),
            ] as PageModel,
        ]
    }
}

/// The calls of one minute.
private struct CountedMinute {
    let accepted: Int
    let failed: Int
    let refused: Int
    private let latency: [Int]

    init(_ item: JSONValue) {
        accepted = Int(item["accepted"]?.integer ?? 0)
        failed = Int(item["failed"]?.integer ?? 0)
        refused = Int((item["refused"]?.integer ?? 0) + (item["other_refusals"]?.integer ?? 0))
        latency = (item["latency"]?.items ?? []).map { Int($0.integer ?? 0) }
    }

    /// Returns the durations of all sends of the minutes, in seconds.
    static func durations(_ minutes: [CountedMinute], bounds: [Double]) -> [HistogramBucket] {
        (bounds + [.infinity]).enumerated().map { index, bound in
            HistogramBucket(
                upperBound: bound,
                count: minutes.reduce(0) { $0 + (index < $1.latency.count ? $1.latency[index] : 0) })
        }
    }

    private static func milliseconds(_ seconds: Double) -> Int { Int((seconds * 1000).rounded()) }

    /// Returns the bound of the bucket that contains the quantile: `10 ms`; a dash without sends.
    static func quantile(_ quantile: Double, _ buckets: [HistogramBucket]) -> String {
        let total = buckets.reduce(0) { $0 + $1.count }
        guard total > 0 else { return "–" }
        let rank = max(1, Int((Double(total) * quantile).rounded(.up)))
        var seen = 0
        for (index, bucket) in buckets.enumerated() {
            seen += bucket.count
            guard seen >= rank else { continue }
            if bucket.upperBound.isFinite { return "≤ \(milliseconds(bucket.upperBound)) ms" }
            return "> \(index > 0 ? milliseconds(buckets[index - 1].upperBound) : 0) ms"
        }
        return "–"
    }
}
