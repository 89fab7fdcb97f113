internal import CoreMetrics
internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The values of one series that a library reports. Adding takes no lock and is safe on any thread.
protocol LibrarySeries: AnyObject, Sendable {
    /// The kind of the metric that contains the series.
    static var kind: MetricFamily.Kind { get }
    /// The name and the labels.
    var key: LibrarySeriesKey { get }
    /// The current value.
    var value: MetricFamily.Value { get }

    /// Creates a series without values.
    init(key: LibrarySeriesKey)
}

/// A counter of whole or fractional amounts. It ignores amounts that are negative or not finite.
final class LibraryCounter: LibrarySeries, CounterHandler, FloatingPointCounterHandler {
    static let kind = MetricFamily.Kind.counter
    let key: LibrarySeriesKey
    private let sum = AtomicDouble()

    init(key: LibrarySeriesKey) { self.key = key }

    var value: MetricFamily.Value { .number(sum.value) }

    func increment(by amount: Int64) { increment(by: Double(amount)) }

    func increment(by amount: Double) {
        if amount > 0, amount.isFinite { sum.add(amount) }
    }

    func reset() { sum.set(0) }
}

/// A value that can be set, increased and decreased: a meter, or a recorder that does not aggregate.
final class LibraryGauge: LibrarySeries, MeterHandler, RecorderHandler {
    static let kind = MetricFamily.Kind.gauge
    let key: LibrarySeriesKey
    private let level = AtomicDouble()

    init(key: LibrarySeriesKey) { self.key = key }

    var value: MetricFamily.Value { .number(level.value) }

    func set(_ value: Int64) { level.set(Double(value)) }
    func set(_ value: Double) { level.set(value) }
    func record(_ value: Int64) { set(value) }
    func record(_ value: Double) { set(value) }

    func increment(by amount: Double) {
        if amount.isFinite { level.add(amount) }
    }

    func decrement(by amount: Double) { increment(by: -amount) }
}

/// The sum and the number of recorded values. Their unit is unknown, so no buckets fit them.
final class LibrarySummary: LibrarySeries, RecorderHandler {
    static let kind = MetricFamily.Kind.summary
    let key: LibrarySeriesKey
    private let sum = AtomicDouble()
    private let count = Atomic<UInt64>(0)

    init(key: LibrarySeriesKey) { self.key = key }

    var value: MetricFamily.Value { .summary(sum: sum.value, count: count.load(ordering: .relaxed)) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        guard value.isFinite else { return }
        sum.add(value)
        count.wrappingAdd(1, ordering: .relaxed)
    }
}

/// A histogram of durations, exported in seconds whatever unit the library prefers.
final class LibraryTimer: LibrarySeries, TimerHandler {
    static let kind = MetricFamily.Kind.histogram
    let key: LibrarySeriesKey
    private let durations = Histogram(.latencies)

    init(key: LibrarySeriesKey) { self.key = key }

    var value: MetricFamily.Value { .histogram(durations.reading) }

    func recordNanoseconds(_ duration: Int64) { durations.observe(max(0, duration)) }
}

/// A floating-point number that any thread may change without a lock.
private struct AtomicDouble: ~Copyable, Sendable {
    private let bits = Atomic<UInt64>(0)

    var value: Double { Double(bitPattern: bits.load(ordering: .relaxed)) }

    func set(_ value: Double) { bits.store(value.bitPattern, ordering: .relaxed) }

    func add(_ amount: Double) {
        var current = bits.load(ordering: .relaxed)
        while true {
            let sum = Double(bitPattern: current) + amount
            let (isExchanged, original) = bits.weakCompareExchange(
                expected: current, desired: sum.bitPattern, ordering: .relaxed)
            if isExchanged { return }
            current = original
        }
    }
}
