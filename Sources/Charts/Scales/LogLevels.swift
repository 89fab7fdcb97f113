#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Five levels of counts on a logarithmic scale from 1 to the largest count.
struct LogLevels: Sendable, Hashable {
    /// The number of levels.
    static let count = 5

    /// The largest count of each level, ascending.
    let maxima: [Int]

    init(maximum: Int) {
        let maximum = max(1, maximum)
        maxima = (1...Self.count).map { level in
            if level == Self.count { return maximum }
            let bound = pow(Double(maximum), Double(level) / Double(Self.count))
            // A bound that rounding put just below a whole number must not lose it.
            return min(maximum, max(1, Int(min((bound + 1e-9).rounded(.down), 9e18))))
        }
    }

    /// Returns the level of a count, from 1 to `count`; 0 for no sends. If all counts are 1, their level is in the
    /// middle.
    func level(of count: Int) -> Int {
        guard count > 0 else { return 0 }
        if maxima[Self.count - 1] == 1 { return (Self.count + 1) / 2 }
        return (maxima.firstIndex { count <= $0 } ?? Self.count - 1) + 1
    }

    /// The levels that a whole number can have, each with its counts.
    var ranges: [(level: Int, counts: ClosedRange<Int>)] {
        if maxima[Self.count - 1] == 1 { return [(level(of: 1), 1...1)] }
        var lower = 1
        var ranges: [(level: Int, counts: ClosedRange<Int>)] = []
        for (index, upper) in maxima.enumerated() where upper >= lower {
            ranges.append((index + 1, lower...upper))
            lower = upper == .max ? upper : upper + 1
        }
        return ranges
    }

    /// Returns the place of a count on the scale, from 0 for 1 to 1 for the largest count.
    func fraction(of count: Int) -> Double {
        let maximum = maxima[Self.count - 1]
        guard count > 0, maximum > 1 else { return count > 0 ? 0.5 : 0 }
        return min(1, log(Double(count)) / log(Double(maximum)))
    }
}
