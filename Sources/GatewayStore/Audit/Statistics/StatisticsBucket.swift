/// A period in which sends are counted: an hour or a day of UTC.
struct StatisticsBucket: Sendable, Hashable, Comparable {
    /// Twice the number of the first hour since 1970, plus one for an hour. So a day precedes its own hours.
    let code: UInt32

    static let hour: Int64 = 3_600_000_000
    static let day = 24 * hour

    private init(code: UInt32) { self.code = code }

    /// Returns the hour that contains the time; nil for a time before 1970 or after the year 9999.
    static func hour(of time: Int64) -> StatisticsBucket? {
        guard bounds.contains(time) else { return nil }
        return StatisticsBucket(code: UInt32(time / hour) * 2 + 1)
    }

    /// Returns the day that contains the time; nil for a time before 1970 or after the year 9999.
    static func day(of time: Int64) -> StatisticsBucket? {
        guard bounds.contains(time) else { return nil }
        return StatisticsBucket(code: UInt32(time / day) * 24 * 2)
    }

    private static let bounds: Range<Int64> = 0..<253_402_300_800_000_000

    var isHour: Bool { code & 1 == 1 }

    /// The first hour, since 1970.
    var firstHour: Int64 { Int64(code >> 1) }

    static func < (left: StatisticsBucket, right: StatisticsBucket) -> Bool { left.code < right.code }
}

/// The buckets that answer a query for a range: whole days, and hours at its edges.
struct BucketSelection: Sendable, Hashable {
    /// The hours of the range, since 1970.
    let hours: Range<Int64>
    /// The hours of the days that are counted by day. The others of ``hours`` are counted by hour.
    let days: Range<Int64>

    /// Selects the buckets for a range.
    ///
    /// - Parameters:
    ///   - retention: The buckets that exist.
    ///   - now: The present time. A range that ends later includes the whole present day.
    init(since: Int64, until: Int64, retention: PairRetention, now: Int64) {
        let today = now.flooredQuotient(dividingBy: StatisticsBucket.day) * 24
        var first = max(since.flooredQuotient(dividingBy: StatisticsBucket.hour), retention.firstDayHour)
        var end = today + 24
        if until <= now {
            end = until == .min ? 0 : (until - 1).flooredQuotient(dividingBy: StatisticsBucket.hour) + 1
        }
        if first < retention.firstHour { first = Self.startOfDay(first) }
        if end <= retention.firstHour { end = Self.startOfDay(end + 23) }
        end = since < until ? max(first, end) : first
        hours = first..<end
        let (firstDay, endDay) = (Self.startOfDay(first + 23), Self.startOfDay(end))
        days = firstDay <= endDay ? firstDay..<endDay : first..<first
    }

    func contains(_ bucket: StatisticsBucket) -> Bool {
        let hour = bucket.firstHour
        return bucket.isHour ? hours.contains(hour) && !days.contains(hour) : days.contains(hour)
    }

    private static func startOfDay(_ hour: Int64) -> Int64 { hour.flooredQuotient(dividingBy: 24) * 24 }
}

/// The buckets that are kept: the hours of the last two or three days, and the days since the oldest record, at most 400.
struct PairRetention: Sendable, Hashable {
    /// The number of days that are counted, with the present one.
    static let days: Int64 = 400
    /// The number of days before the present one that are also counted by hour.
    static let daysByHour: Int64 = 2

    /// The first hour, since 1970, that is counted by hour.
    let firstHour: Int64
    /// The first hour of the first day that is counted.
    let firstDayHour: Int64
    /// The first hour that is not counted any more, after tomorrow. Later times show that the clock was set back.
    let endHour: Int64

    /// Creates the retention at a time.
    ///
    /// - Parameter oldest: The time of the journal's oldest record; `.min` if it is not known.
    init(now: Int64, oldest: Int64 = .min) {
        let today = now.flooredQuotient(dividingBy: StatisticsBucket.day)
        firstHour = (today - Self.daysByHour) * 24
        endHour = (today + 2) * 24
        // An oldest record from the future shows a wrong clock, and must not remove anything.
        let first = min(oldest.flooredQuotient(dividingBy: StatisticsBucket.day), today)
        firstDayHour = max(today - Self.days + 1, first) * 24
    }

    func keeps(_ bucket: StatisticsBucket) -> Bool {
        bucket.firstHour >= (bucket.isHour ? firstHour : firstDayHour) && bucket.firstHour < endHour
    }
}

extension Int64 {
    /// Returns the quotient, rounded towards negative infinity.
    func flooredQuotient(dividingBy divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
