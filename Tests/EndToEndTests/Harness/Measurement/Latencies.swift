/// The durations of measured calls.
struct Latencies: Sendable, CustomStringConvertible {
    private var sorted: [Duration]

    init(_ durations: [Duration]) { sorted = durations.sorted() }

    static func + (left: Latencies, right: Latencies) -> Latencies { Latencies(left.sorted + right.sorted) }

    var count: Int { sorted.count }

    /// Returns the duration that the given percentage of the calls did not exceed, or zero without calls.
    func percentile(_ percent: Double) -> Duration {
        guard !sorted.isEmpty else { return .zero }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * percent / 100))]
    }

    var description: String {
        let parts = [("p50", 50), ("p99", 99), ("max", 100)].map { "\($0) \(percentile($1).inMilliseconds) ms" }
        return parts.joined(separator: ", ") + " of \(count)"
    }
}

extension Duration {
    /// The milliseconds with three decimals.
    var inMilliseconds: String {
        let microseconds = components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
        let decimals = String(1000 + abs(microseconds % 1000)).dropFirst()
        return "\(microseconds < 0 ? "-" : "")\(abs(microseconds / 1000)).\(decimals)"
    }
}
