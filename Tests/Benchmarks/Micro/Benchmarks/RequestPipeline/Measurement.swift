import Benchmark
import CAllocations

/// An operation gave something else than it must: what was measured is not what is meant.
struct WrongResult: Error {}

extension BenchmarkMetric {
    /// Blocks taken from the allocator for one operation, rounded to the nearest.
    static let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)
}

/// How often an operation is made for one sample.
private let operationsPerSample = 1_000

private var configuration: Benchmark.Configuration {
    .init(
        metrics: [.wallClock, .allocations, .peakMemoryResident], timeUnits: .nanoseconds,
        warmupIterations: 3,
        scalingFactor: .kilo, maxDuration: .seconds(2), maxIterations: 300,
        thresholds: [
            // The same on every machine: one more is a change of the program.
            .allocations: .init(absolute: [.p90: 0]),
            // Of the machine that they were taken on, so wide enough for another.
            .wallClock: .init(relative: [.p90: 150]),
            .peakMemoryResident: .init(relative: [.p90: 50]),
        ])
}

/// Registers the measurement of an operation that never waits.
///
/// - Parameters:
///   - subject: what it is done with, made before anything is measured.
///   - operation: does it once, and says whether it came out right.
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

/// Registers the measurement of an operation that may wait.
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
