/// A time of day: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct WallTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Microseconds since the epoch; negative before it.
    public let microseconds: Int64

    /// Creates a time from microseconds since the epoch.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Creates a time from whole seconds since the epoch. A value out of range saturates.
    public init(seconds: Int64) {
        let (microseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        // If the value wrapped around, a token with an extreme expiry would get an arbitrary one.
        self.microseconds = overflow ? (seconds < 0 ? .min : .max) : microseconds
    }

    /// Whole seconds since the epoch, rounded down.
    public var seconds: Int64 { Self.floorDivision(microseconds, 1_000_000) }

    /// Returns this time plus the number of microseconds, which may be negative. Saturates at the limits of the type.
    package func adding(_ microseconds: Int64) -> WallTime {
        let (sum, overflow) = self.microseconds.addingReportingOverflow(microseconds)
        return WallTime(microseconds: overflow ? (microseconds < 0 ? .min : .max) : sum)
    }

    /// Returns whether the left time is earlier.
    public static func < (left: WallTime, right: WallTime) -> Bool { left.microseconds < right.microseconds }

    /// The time in RFC 3339 format, in UTC with microseconds: `2026-11-21T07:00:00.000000Z`.
    public var description: String {
        let days = Self.floorDivision(seconds, 86_400)
        let second = seconds - days * 86_400
        let (year, month, day) = Self.civil(fromDays: days)
        var text: [UInt8] = []
        text.reserveCapacity(27)
        func append(_ number: Int64, digits: Int) {
            var divisor: Int64 = 1
            for _ in 1..<digits { divisor *= 10 }
            while divisor > 0 {
                text.append(UInt8(ascii: "0") + UInt8((number / divisor) % 10))
                divisor /= 10
            }
        }
        append(max(0, year), digits: 4)
        text.append(UInt8(ascii: "-"))
        append(month, digits: 2)
        text.append(UInt8(ascii: "-"))
        append(day, digits: 2)
        text.append(UInt8(ascii: "T"))
        append(second / 3600, digits: 2)
        text.append(UInt8(ascii: ":"))
        append(second / 60 % 60, digits: 2)
        text.append(UInt8(ascii: ":"))
        append(second % 60, digits: 2)
        text.append(UInt8(ascii: "."))
        // Not `microseconds - seconds * 1_000_000`: the product overflows near `Int64.min`.
        append((microseconds % 1_000_000 + 1_000_000) % 1_000_000, digits: 6)
        text.append(UInt8(ascii: "Z"))
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses RFC 3339 text (`2026-11-21T07:00:00Z`, with or without a fraction, with `Z` or an offset); returns nil
    /// for other text.
    public init?(rfc3339 text: String) {
        var text = text
        guard let time = text.withUTF8({ Self.parse($0) }) else { return nil }
        self = time
    }

    private static func parse(_ text: UnsafeBufferPointer<UInt8>) -> WallTime? {
        var place = 0
        func number(_ digits: Int) -> Int64? {
            guard text.count - place >= digits else { return nil }
            var number: Int64 = 0
            for byte in text[place..<(place + digits)] {
                guard byte.isASCIIDigit else { return nil }
                number = number * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            place += digits
            return number
        }
        func consume(_ byte: UInt8) -> Bool {
            guard place < text.count, text[place] == byte else { return false }
            place += 1
            return true
        }
        let (dash, colon) = (UInt8(ascii: "-"), UInt8(ascii: ":"))
        guard let year = number(4), consume(dash), let month = number(2), consume(dash), let day = number(2),
            consume(UInt8(ascii: "T")) || consume(UInt8(ascii: "t")), let hour = number(2), consume(colon),
            let minute = number(2), consume(colon), let second = number(2), (1...12).contains(month), hour < 24,
            minute < 60, second < 60
        else { return nil }
        let days = days(fromCivil: year, month, day)
        guard civil(fromDays: days) == (year, month, day) else { return nil }
        var fraction: Int64 = 0
        if consume(UInt8(ascii: ".")) {
            let start = place
            while place < text.count, text[place].isASCIIDigit { place += 1 }
            guard place > start else { return nil }
            for index in start..<(start + 6) {
                fraction = fraction * 10 + (index < place ? Int64(text[index] - UInt8(ascii: "0")) : 0)
            }
        }
        var offset: Int64 = 0
        if !(consume(UInt8(ascii: "Z")) || consume(UInt8(ascii: "z"))) {
            let sign: Int64 = consume(UInt8(ascii: "+")) ? 1 : consume(dash) ? -1 : 0
            guard sign != 0, let hours = number(2), consume(colon), let minutes = number(2), hours < 24, minutes < 60
            else { return nil }
            offset = sign * (hours * 3600 + minutes * 60)
        }
        guard place == text.count else { return nil }
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return WallTime(microseconds: seconds * 1_000_000 + fraction)
    }

    private static func floorDivision(_ dividend: Int64, _ divisor: Int64) -> Int64 {
        let quotient = dividend / divisor
        return dividend % divisor < 0 ? quotient - 1 : quotient
    }

    // The proleptic Gregorian calendar in eras of 400 years, each 146,097 days. Years are counted from March.
    private static func civil(fromDays days: Int64) -> (Int64, Int64, Int64) {
        let shifted = days + 719_468
        let era = floorDivision(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9, day)
    }

    private static func days(fromCivil year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = floorDivision(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
