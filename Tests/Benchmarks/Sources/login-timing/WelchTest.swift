/// Welch's t (B. L. Welch, 1947) of two lists of times: the difference of their means in standard errors of that
/// difference. Computed from all times, and from the times without the slowest.
struct WelchTest: CustomStringConvertible {
    private let means: (first: Double, second: Double)
    /// The cropped percentage, and t of the remaining times.
    private let values: [(cropped: Double, t: Double)]

    private static let crops: [Double] = [0, 1, 10]

    /// - Parameters: times in nanoseconds.
    init(_ first: [Double], _ second: [Double]) {
        let sorted = (first + second).sorted()
        means = (Self.moments(first).mean, Self.moments(second).mean)
        values = Self.crops.map { percent in
            // Both kinds have the same cut-off: a slower kind loses more samples, and the difference remains visible.
            let bound = sorted[min(sorted.count - 1, Int(Double(sorted.count) * (100 - percent) / 100))]
            return (percent, Self.t(first.filter { $0 <= bound }, second.filter { $0 <= bound }))
        }
    }

    /// The largest |t|.
    var largest: Double { values.map { abs($0.t) }.max() ?? .infinity }

    private static func t(_ first: [Double], _ second: [Double]) -> Double {
        let (a, b) = (moments(first), moments(second))
        let error = (a.variance / Double(first.count) + b.variance / Double(second.count)).squareRoot()
        // Too few times remain for a variance, because nearly all cropped times are of one kind.
        guard error > 0 else { return .infinity }
        return (a.mean - b.mean) / error
    }

    private static func moments(_ times: [Double]) -> (mean: Double, variance: Double) {
        guard times.count > 1 else { return (times.first ?? 0, 0) }
        let mean = times.reduce(0, +) / Double(times.count)
        let variance = times.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(times.count - 1)
        return (mean, variance)
    }

    var description: String {
        func rounded(_ number: Double, _ places: Double = 100) -> String {
            number.isFinite ? "\((number * places).rounded() / places)" : "\(number)"
        }
        let parts = values.map { value in
            "t = \(rounded(value.t))" + (value.cropped == 0 ? "" : " without the slowest \(Int(value.cropped)) %")
        }
        return "mean \(rounded(means.first / 1000)) µs and \(rounded(means.second / 1000)) µs; "
            + parts.joined(separator: ", ")
    }
}
