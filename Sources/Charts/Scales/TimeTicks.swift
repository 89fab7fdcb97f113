internal import GatewaySupport

/// The ticks of a time axis, at round times in UTC.
struct TimeTicks: Sendable, Hashable {
    struct Tick: Sendable, Hashable {
        /// Seconds since the epoch.
        let seconds: Int64
        let label: String
    }

    let ticks: [Tick]

    private static let day: Int64 = 86_400
    private static let steps: [Int64] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, day, 2 * day, 7 * day,
        14 * day, 28 * day, 91 * day, 182 * day, 364 * day,
    ]

    /// - Parameters:
    ///   - first: the beginning of the axis in seconds since the epoch.
    ///   - last: the end of the axis.
    ///   - maximum: the number of ticks for which there is space.
    ///   - minimumStep: the seconds that are at least between two ticks.
    init(first: Int64, last: Int64, maximum: Int, minimumStep: Int64 = 1) {
        let first = min(max(first, UTC.range.lowerBound), UTC.range.upperBound)
        let last = min(max(last, first), UTC.range.upperBound)
        let space = Int64(max(1, maximum))
        var step = Self.steps.first { $0 >= minimumStep && (last - first) / $0 < space } ?? 364 * Self.day
        while (last - first) / step >= space { step *= 2 }
        var time = (first / step) * step
        if time < first { time += step }
        var ticks: [Tick] = []
        while time <= last {
            ticks.append(Tick(seconds: time, label: Self.label(of: time, step: step)))
            time += step
        }
        self.ticks = ticks
    }

    private static func label(of seconds: Int64, step: Int64) -> String {
        if step >= 28 * day { return UTC.date(seconds) }
        if seconds % day == 0 { return UTC.monthAndDay(seconds) }
        return step < 60 ? UTC.time(seconds, digits: 8) : UTC.time(seconds, digits: 5)
    }
}

/// Times in UTC as text.
enum UTC {
    /// The times that have a date of four digits, from 1970.
    static let range: ClosedRange<Int64> = 0...253_402_300_799

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the date: `2026-11-25`.
    static func date(_ seconds: Int64) -> String { String(text(seconds).prefix(10)) }

    /// Returns the month and the day: `Nov 25`.
    static func monthAndDay(_ seconds: Int64) -> String {
        let date = text(seconds).prefix(10)
        let month = Int(date.dropFirst(5).prefix(2)) ?? 1
        return "\(months[(month - 1) % 12]) \(Int(date.suffix(2)) ?? 1)"
    }

    /// Returns the time of day: `14:05`, or `14:05:30` with eight digits.
    static func time(_ seconds: Int64, digits: Int) -> String {
        String(text(seconds).dropFirst(11).prefix(digits))
    }

    /// Returns the date and the time of day: `2026-11-25 14:05`.
    static func dateAndTime(_ seconds: Int64, digits: Int = 5) -> String {
        "\(date(seconds)) \(time(seconds, digits: digits))"
    }

    private static func text(_ seconds: Int64) -> String {
        WallTime(seconds: min(max(seconds, range.lowerBound), range.upperBound)).description
    }
}
