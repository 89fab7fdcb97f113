internal import GatewaySupport

/// The end of a wait on the machine's monotonic clock, in the form that poll(2) needs.
struct Deadline {
    let instant: MonotonicInstant

    /// A deadline in the past has passed; one too far to represent never passes.
    init(after duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, sumOverflow) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
        let (end, endOverflow) = Clocks.system.monotonic().nanoseconds.addingReportingOverflow(sum)
        let isUnrepresentable = overflow || sumOverflow || endOverflow
        instant = MonotonicInstant(nanoseconds: isUnrepresentable ? (seconds < 0 ? .min : .max) : end)
    }

    init(at instant: MonotonicInstant) { self.instant = instant }

    var hasPassed: Bool { Clocks.system.monotonic() >= instant }

    /// The remaining time in milliseconds, rounded up; 0 if the deadline has passed.
    var remainingMilliseconds: Int32 {
        let (left, overflow) = instant.nanoseconds.subtractingReportingOverflow(
            Clocks.system.monotonic().nanoseconds)
        if overflow { return instant.nanoseconds < 0 ? 0 : .max }
        guard left > 0 else { return 0 }
        return Int32(clamping: left / 1_000_000 + (left % 1_000_000 == 0 ? 0 : 1))
    }

    func earlier(of other: Deadline) -> Deadline { instant < other.instant ? self : other }

    /// The end of the first of several waits that share the remaining time equally.
    func share(of waits: Int) -> Deadline {
        waits > 1 ? Deadline(after: .milliseconds(Int(remainingMilliseconds) / waits)).earlier(of: self) : self
    }
}

extension Duration {
    /// The whole milliseconds, rounded up, within 1 and `Int32.max`: for settings in which 0 means "without a limit".
    var positiveMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        let (milliseconds, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? 1 : .max }
        let fraction = (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return max(1, Int32(clamping: milliseconds.addingReportingOverflow(fraction).partialValue))
    }
}
