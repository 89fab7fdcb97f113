internal import CoreMetrics
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The metrics that libraries report through swift-metrics, for export beside the gateway's own.
///
/// Creating a series takes a lock; adding to it does not. Series with the same name and labels share their values. When
/// the capacity is reached, or when a name is in use for another kind, a new series is rejected: it records nothing, and
/// `swift_metrics_series_rejected_total` counts it.
final class LibraryMetrics: MetricsFactory {
    /// The metrics of this process.
    ///
    /// The first access installs them in swift-metrics for the rest of the process. swift-metrics accepts one factory a
    /// process and traps at a second one, so a program that contains a gateway cannot install its own.
    static let process: LibraryMetrics = {
        let metrics = LibraryMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()

    private struct Family {
        let label: String
        let kind: MetricFamily.Kind
        var members: [[MetricFamily.Label]: Member] = [:]
    }

    private struct Member {
        let series: any LibrarySeries
        /// The number of metrics of libraries that use the series and have not been destroyed.
        var uses = 1
    }

    private struct State {
        var families: [String: Family] = [:]
        /// The names of all samples, because `a_count` may be a gauge or part of the histogram `a`.
        var sampleNames: Set<String> = []
        var seriesCount = 0
        var rejected: UInt64 = 0
    }

    private let capacity: Int
    private let state = Mutex(State())

    /// Creates an empty collection of at most `capacity` series.
    init(capacity: Int = 1_000) { self.capacity = capacity }

    /// Returns the current values, by name and labels.
    func families() -> [MetricFamily] {
        let (families, rejected) = state.withLock { ($0.families, $0.rejected) }
        let rejections = MetricFamily(
            "swift_metrics_series_rejected_total", .counter,
            "Series of libraries that are not recorded, because there are too many or their names are in use.",
            Double(rejected))
        return [rejections]
            + families.sorted { $0.key < $1.key }.map { name, family in
                MetricFamily(
                    name, family.kind, "Reported by a library as \(family.label).",
                    family.members.sorted { $0.key.sortKey < $1.key.sortKey }
                        .map { ($0.key, $0.value.series.value) })
            }
    }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(LibraryCounter.self, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(LibraryCounter.self, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(LibraryGauge.self, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        if aggregate { return series(LibrarySummary.self, label, dimensions) ?? NOOPMetricsHandler.instance }
        return series(LibraryGauge.self, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(LibraryTimer.self, label, dimensions) ?? NOOPMetricsHandler.instance
    }

    func destroyCounter(_ handler: any CounterHandler) { release(handler) }
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { release(handler) }
    func destroyMeter(_ handler: any MeterHandler) { release(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { release(handler) }
    func destroyTimer(_ handler: any TimerHandler) { release(handler) }

    /// Returns the series of a name and labels, which is created if it does not exist; nil if it is rejected.
    private func series<Series: LibrarySeries>(
        _ type: Series.Type, _ label: String, _ dimensions: [(String, String)]
    ) -> Series? {
        let key = LibrarySeriesKey(label: label, dimensions: dimensions, kind: type.kind)
        return state.withLock { state in
            if let member = state.families[key.name]?.members[key.labels], let series = member.series as? Series {
                state.families[key.name]?.members[key.labels]?.uses += 1
                return series
            }
            let isOfKind = state.families[key.name].map { $0.kind == type.kind }
            guard isOfKind ?? state.sampleNames.isDisjoint(with: key.sampleNames), state.seriesCount < capacity else {
                state.rejected += 1
                return nil
            }
            let series = Series(key: key)
            state.families[key.name, default: Family(label: label, kind: type.kind)].members[key.labels] =
                Member(series: series)
            state.sampleNames.formUnion(key.sampleNames)
            state.seriesCount += 1
            return series
        }
    }

    /// Removes a series with its last use.
    private func release(_ handler: AnyObject) {
        // A rejected series is no `LibrarySeries`.
        guard let series = handler as? any LibrarySeries else { return }
        let key = series.key
        state.withLock { state in
            guard let member = state.families[key.name]?.members[key.labels], member.series === series else { return }
            if member.uses > 1 {
                state.families[key.name]?.members[key.labels]?.uses -= 1
                return
            }
            state.families[key.name]?.members[key.labels] = nil
            state.seriesCount -= 1
            if state.families[key.name]?.members.isEmpty == true {
                state.families[key.name] = nil
                state.sampleNames.subtract(key.sampleNames)
            }
        }
    }
}

extension [MetricFamily.Label] {
    /// The text by which labels are sorted in an export.
    fileprivate var sortKey: String { map { "\($0.name)=\($0.value)" }.joined(separator: ",") }
}
