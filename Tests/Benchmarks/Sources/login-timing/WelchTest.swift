/// Welch's t (B. L. Welch, 1947) of two lists of times: how far their means are apart, in standard errors of that distance. From all
/// times, and from those that are left when the slowest are cropped.
struct WelchTest: CustomStringConvertible {
    private let means: (first: Double, second: Double)
    /// How much was cropped, in percent, and t of the rest.
    private let values: [(cropped: Double, t: Double)]

    private static let crops: [Double] = [0, 1, 10]

    /// - Parameters: times in nanoseconds.
    init(_ first: [Double], _ second: [Double]) {
        let sorted = (first + second).sorted()
        means = (Self.moments(first).mean, Self.moments(second).mean)
        values = Self.crops.map { percent in
            // One bound for both: a kind that is slower loses more of its samples, and still shows.
            let bound = sorted[min(sorted.count - 1, Int(Double(sorted.count) * (100 - percent) / 100))]
            return (percent, Self.t(first.filter { $0 <= bound }, second.filter { $0 <= bound }))
        }
    }

    /// The largest |t|.
    var largest: Double { values.map { abs($0.t) }.max() ?? .infinity }

    private static func t(_ first: [Double], _ second: [Double]) -> Double {
        let (a, b) = (moments(first), moments(second))
        let error = (a.variance / Double(first.count) + b.variance / Double(second.count)).squareRoot()
        // Too few are left for a variance: what was cropped was all of one kind.
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
