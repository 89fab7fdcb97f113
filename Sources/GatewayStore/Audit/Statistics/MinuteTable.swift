internal import GatewaySupport

/// The calls of each of the last 1,440 minutes. Its memory is constant.
struct MinuteTable {
    /// The number of minutes, 24 hours.
    static let capacity: Int64 = 1440
    static let microseconds: Int64 = 60_000_000
    /// The number of minutes that lines may have: those above, and the next one.
    private static let slotCount = capacity + 1
    /// The counters of a minute: accepted, failed, refused, other refusals, and the latency buckets.
    private static let countersPerMinute = 4 + LatencyBuckets.count

    /// The minute, since 1970, that each slot counts.
    private var slots = [Int64](repeating: .min, count: Int(slotCount))
    private var counters = [UInt32](repeating: 0, count: Int(slotCount) * countersPerMinute)

    /// Adds a line. Ignores one that is older than 24 hours or more than a minute in the future, so that a wrong clock
    /// does not displace minutes.
    mutating func add(_ line: CountedLine, at time: Int64, now: Int64) {
        let minute = Self.number(of: time)
        let current = Self.number(of: now)
        guard minute > current - Self.capacity, minute <= current + 1 else { return }
        let slot = Self.slot(of: minute)
        if slots[slot] != minute {
            // A later minute may be in the slot if the clock was set back.
            guard slots[slot] < minute || slots[slot] > current + 1 else { return }
            slots[slot] = minute
            for counter in (slot * Self.countersPerMinute)..<((slot + 1) * Self.countersPerMinute) {
                counters[counter] = 0
            }
        }
        switch line {
        case .ignored: break
        case .send(let word, let count, let latency):
            let counter =
                switch word {
                case .accepted: 0
                case .failed: 1
                case .refused: 2
                }
            increase(slot, counter, by: count)
            if let latency { increase(slot, 4 + latency, by: count) }
        case .otherRefusal(let count): increase(slot, 3, by: count)
        }
    }

    /// Returns the calls of each minute that overlaps the range and lies within the last 24 hours.
    func minutes(since: Int64, until: Int64, now: Int64) -> [MinuteStatistics.Minute] {
        guard let numbers = Self.numbers(since: since, until: until, now: now) else { return [] }
        return numbers.map { minute in
            let slot = Self.slot(of: minute)
            let isKnown = slots[slot] == minute
            func counter(_ number: Int) -> Int { isKnown ? Int(counters[slot * Self.countersPerMinute + number]) : 0 }
            var sends = SendCounts()
            (sends.accepted, sends.failed, sends.refused) = (counter(0), counter(1), counter(2))
            return MinuteStatistics.Minute(
                start: WallTime(microseconds: minute * Self.microseconds), sends: sends, otherRefusals: counter(3),
                latency: LatencyHistogram((0..<LatencyBuckets.count).map { counter(4 + $0) }))
        }
    }

    /// Returns the numbers, since 1970, of the minutes that overlap the range and lie within the last 24 hours; nil if there
    /// are none.
    static func numbers(since: Int64, until: Int64, now: Int64) -> ClosedRange<Int64>? {
        let current = number(of: now)
        let first = max(number(of: since), current - capacity + 1)
        let last = min(number(of: until == .min ? until : until - 1), current)
        return first <= last ? first...last : nil
    }

    private mutating func increase(_ slot: Int, _ counter: Int, by count: Int) {
        let index = slot * Self.countersPerMinute + counter
        counters[index] = UInt32(clamping: Int(counters[index]) + count)
    }

    private static func number(of time: Int64) -> Int64 { time.flooredQuotient(dividingBy: microseconds) }

    private static func slot(of minute: Int64) -> Int { Int((minute % slotCount + slotCount) % slotCount) }
}
