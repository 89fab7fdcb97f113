#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The ticks of an axis from zero, at 1, 2 or 5 times a power of ten.
struct NiceTicks: Sendable, Hashable {
    /// The largest value that an axis shows. Larger ones are drawn at its end.
    static let maximumValue = 1e15

    /// The ticks, ascending; the first is 0, the last is the end of the axis.
    let values: [Double]

    /// - Parameters:
    ///   - maximum: the largest value to show.
    ///   - intervals: the number of intervals that is desired.
    ///   - isWhole: whether the values are counts, so that no tick is between two whole numbers.
    init(maximum: Double, intervals: Int, isWhole: Bool) {
        let maximum = maximum.isFinite && maximum > 0 ? min(max(maximum, 1e-9), Self.maximumValue) : 1
        let rough = maximum / Double(max(1, intervals))
        let magnitude = pow(10, log10(rough).rounded(.down))
        let factor = [1.0, 2, 5].first { $0 * magnitude >= rough * 0.999_999 } ?? 10
        let step = isWhole ? max(1, factor * magnitude) : factor * magnitude
        let count = Int((maximum / step - 1e-9).rounded(.up))
        values = (0...max(1, count)).map { Double($0) * step }
    }

    /// The end of the axis.
    var end: Double { values[values.count - 1] }

    /// Returns the place of a value, from 0 to 1.
    func fraction(of value: Double) -> Double { value.isFinite ? min(max(value / end, 0), 1) : 0 }
}
