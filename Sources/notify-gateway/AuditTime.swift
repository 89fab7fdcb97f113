import ArgumentParser
import GatewayCore
import GatewaySupport

/// A time on the command line: RFC 3339, a day in UTC, or a span until now.
enum AuditTime: ExpressibleByArgument {
    case at(WallTime)
    case ago(seconds: Int64)

    private static let units: [(word: String, seconds: Int64)] = [
        ("w", 604_800), ("d", 86_400), ("h", 3600), ("min", 60), ("m", 60), ("s", 1),
    ]

    init?(argument: String) {
        if let time = WallTime(rfc3339: argument) ?? WallTime(rfc3339: argument + "T00:00:00Z") {
            self = .at(time)
        } else if let seconds = Self.span(argument) {
            self = .ago(seconds: seconds)
        } else {
            return nil
        }
    }

    /// Returns the absolute time, relative to `now`.
    func time(before now: WallTime) -> WallTime {
        switch self {
        case .at(let time): time
        case .ago(let seconds): WallTime(seconds: now.seconds - seconds)
        }
    }

    /// Parses a span such as `2w`, `90s` or `1h30m`: numbers with units, each unit smaller than the previous one.
    /// Returns seconds.
    private static func span(_ text: String) -> Int64? {
        var rest = text[...]
        var total: Int64 = 0
        var allowed = units[...]
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(digits.count)
            let word = rest.prefix { $0.isLetter }
            rest = rest.dropFirst(word.count)
            guard let number = Int64(digits), let place = allowed.firstIndex(where: { $0.word == word }) else {
                return nil
            }
            let (seconds, isTooLong) = number.multipliedReportingOverflow(by: units[place].seconds)
            let (sum, isTooMuch) = total.addingReportingOverflow(seconds)
            guard !isTooLong, !isTooMuch, sum < maximumSpan else { return nil }
            total = sum
            allowed = units[place...].drop { $0.seconds >= units[place].seconds }
        }
        return text.isEmpty ? nil : total
    }

    /// The maximum span in seconds, more than a thousand years.
    private static let maximumSpan: Int64 = 1 << 35
}
