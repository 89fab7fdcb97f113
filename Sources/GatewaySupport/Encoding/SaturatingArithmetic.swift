extension FixedWidthInteger {
    /// Returns the sum, or the nearest limit of the type: for numbers from outside, of which any may be stated.
    package func addingSaturating(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the nearest limit of the type.
    package func subtractingSaturating(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}

extension Sequence where Element: FixedWidthInteger {
    /// The sum, or the nearest limit of the type.
    package var saturatingSum: Element { reduce(0) { $0.addingSaturating($1) } }
}
