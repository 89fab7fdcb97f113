import Benchmark
import CAllocations

/// The error for an operation with a wrong result, which makes its measurement invalid.
struct WrongResult: Error {}

extension BenchmarkMetric {
    /// The number of memory blocks that one operation allocates, rounded.
    static let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)
}

/// The number of operations in one sample.
private let operationsPerSample = 1_000

private var configuration: Benchmark.Configuration {
    .init(
        metrics: [.wallClock, .allocations, .peakMemoryResident], timeUnits: .nanoseconds,
        warmupIterations: 3,
        scalingFactor: .kilo, maxDuration: .seconds(2), maxIterations: 300,
        thresholds: [
            // The count is the same on every machine, so any difference is a change of the program.
            .allocations: .init(absolute: [.p90: 0]),
            // The thresholds come from one machine; the tolerance covers other machines.
            .wallClock: .init(relative: [.p90: 150]),
            .peakMemoryResident: .init(relative: [.p90: 50]),
        ])
}

/// Registers the measurement of a synchronous operation.
///
/// - Parameters:
///   - subject: the operation's input, created before the measurement.
///   - operation: runs once and returns whether its result is correct.
func measure<Subject>(
    _ name: String, with subject: @escaping () async throws -> Subject,
    _ operation: @escaping (Subject) throws -> Bool
) {
    Benchmark(
        name, configuration: configuration,
        closure: { (benchmark: Benchmark, subject: Subject) throws in
            let before = allocations_made()
            for _ in 0..<operationsPerSample where try !operation(subject) { throw WrongResult() }
            benchmark.measurement(.allocations, perOperation(allocations_made() - before))
        },
        setup: subject)
}

/// Registers the measurement of an asynchronous operation.
func measureWaiting<Subject>(
    _ name: String, with subject: @escaping () async throws -> Subject,
    _ operation: @escaping (Subject) async throws -> Bool
) {
    Benchmark(
        name, configuration: configuration,
        closure: { (benchmark: Benchmark, subject: Subject) async throws in
            let before = allocations_made()
            for _ in 0..<operationsPerSample where try await !operation(subject) { throw WrongResult() }
            benchmark.measurement(.allocations, perOperation(allocations_made() - before))
        },
        setup: subject)
}

private func perOperation(_ count: UInt64) -> Int { (Int(count) + operationsPerSample / 2) / operationsPerSample }
