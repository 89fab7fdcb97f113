import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Statistics: the table of pairs")
struct PairTableTests {
    /// 2026-11-18T18:40:00Z.
    private static let now: Int64 = 1_795_027_200_000_000
    private static let hour = StatisticsBucket.hour
    private static let day = StatisticsBucket.day

    private static func table(rows: Int = 1000, nameBytes: Int = 1 << 20) -> PairTable {
        PairTable(limits: .init(rows: rows, nameBytes: nameBytes), retention: PairRetention(now: now))
    }

    private static func add(
        _ table: inout PairTable, _ word: SendClass = .accepted, _ count: Int = 1, from sender: String,
        to recipient: String?, at time: Int64
    ) {
        if table.isFull { table.makeRoom() }
        func number(_ name: String) -> UInt32 { Array(name.utf8).withUnsafeBytes { table.names.number(of: $0) } }
        table.add(
            word, count, from: number(sender), to: recipient.map(number) ?? SegmentIndex.none, at: time)
    }

    private static func statistics(_ table: PairTable, _ change: (inout PairQuery) -> Void = { _ in }) -> PairStatistics
    {
        var query = PairQuery(limit: 100)
        change(&query)
        return table.statistics(query, now: now)
    }

    private static func text(_ found: PairStatistics) -> [String] {
        found.rows.map {
            "\($0.sender)>\($0.recipient ?? "-") \($0.counts.accepted)/\($0.counts.failed)/\($0.counts.refused)"
        }
    }

    @Test("Pairs are counted by result, sorted by number, and selected by sender, recipient, user and result")
    func counting() throws {
        var table = Self.table()
        Self.add(&table, from: "alice", to: "bob", at: Self.now - 10)
        Self.add(&table, from: "alice", to: "bob", at: Self.now - 30)
        Self.add(&table, .failed, from: "alice", to: "bob", at: Self.now - 20)
        Self.add(&table, .refused, 7, from: "bob", to: "alice", at: Self.now - 5)
        Self.add(&table, from: "bob", to: "carol", at: Self.now)
        Self.add(&table, .refused, 2, from: "carol", to: nil, at: Self.now)
        let all = Self.statistics(table)
        #expect(Self.text(all) == ["bob>alice 0/0/7", "alice>bob 2/1/0", "carol>- 0/0/2", "bob>carol 1/0/0"])
        #expect(all.rows[1].last == WallTime(microseconds: Self.now - 10))
        #expect([all.total.accepted, all.total.failed, all.total.refused] == [3, 1, 9])
        #expect(all.omittedPairs == 0 && all.others == SendCounts())

        let bob = UserName(canonical: "bob")
        #expect(Self.text(Self.statistics(table) { $0.sender = bob }) == ["bob>alice 0/0/7", "bob>carol 1/0/0"])
        #expect(Self.text(Self.statistics(table) { $0.recipient = bob }) == ["alice>bob 2/1/0"])
        #expect(Self.statistics(table) { $0.user = bob }.rows.count == 3)
        #expect(Self.text(Self.statistics(table) { $0.result = .failed }) == ["alice>bob 2/1/0"])
        #expect(Self.statistics(table) { $0.user = UserName(canonical: "nobody") }.rows.isEmpty)
        let one = Self.statistics(table) { $0.limit = 1 }
        #expect(Self.text(one) == ["bob>alice 0/0/7"])
        #expect(one.omittedPairs == 3 && one.omitted.total == 6 && one.total == all.total)
    }

    @Test("A range counts whole hours in the last days and whole days before, and says so")
    func ranges() throws {
        var table = Self.table()
        let today = Self.now / Self.day * Self.day
        // One send an hour for ten days.
        for hours in 0..<240 { Self.add(&table, from: "alice", to: "bob", at: Self.now - Int64(hours) * Self.hour) }
        func found(_ since: Int64?, _ until: Int64?) -> (sends: Int, from: Int64, to: Int64) {
            let found = Self.statistics(table) {
                $0.since = since.map(WallTime.init(microseconds:))
                $0.until = until.map(WallTime.init(microseconds:))
            }
            return (found.total.total, found.range.lowerBound.microseconds, found.range.upperBound.microseconds)
        }
        let recent = found(Self.now - 90 * 60_000_000, nil)
        #expect(recent.sends == 2)
        #expect(recent.from == (Self.now - 90 * 60_000_000) / Self.hour * Self.hour)
        #expect(recent.to == today + Self.day)
        // Both ends within the hours.
        let part = found(today - Self.day + 5 * Self.hour + 1, today + 2 * Self.hour - 1)
        #expect(part == (21, today - Self.day + 5 * Self.hour, today + 2 * Self.hour))
        // The start is before the hours, so its day is whole.
        let long = found(today - 5 * Self.day + 7 * Self.hour, today - Self.day + 3 * Self.hour)
        #expect(long == (4 * 24 + 3, today - 5 * Self.day, today - Self.day + 3 * Self.hour))
        // Both ends are before the hours.
        let old = found(today - 5 * Self.day + 7 * Self.hour, today - 5 * Self.day + 8 * Self.hour)
        #expect(old == (24, today - 5 * Self.day, today - 4 * Self.day))
        #expect(found(nil, nil).sends == 240)
        for (since, until) in [(Self.now, Self.now - 1), (Int64.max, Int64.min), (Int64.min, Int64.min)] {
            #expect(found(since, until).sends == 0)
        }
        #expect(found(.min, .max).sends == 240)
    }

    @Test("Any selection of buckets counts each hour of its range once")
    func selection() {
        var random = SplitMix(seed: 11)
        let retention = PairRetention(now: Self.now)
        for _ in 0..<2000 {
            let times = [0, 1].map { _ in Self.now - Int64.random(in: -Self.day...10 * Self.day, using: &random) }
                .sorted()
            let selection = BucketSelection(since: times[0], until: times[1], retention: retention, now: Self.now)
            for hour in (Self.now / Self.hour - 300)...(Self.now / Self.hour + 30) {
                let time = hour * Self.hour
                let buckets = [StatisticsBucket.hour(of: time), StatisticsBucket.day(of: time)].compactMap(\.self)
                    .filter { retention.keeps($0) && selection.contains($0) }
                #expect(buckets.count == (selection.hours.contains(hour) ? 1 : 0))
            }
            #expect(selection.hours.isEmpty || selection.hours.lowerBound * Self.hour <= times[0])
            #expect(selection.hours.upperBound * Self.hour >= min(times[1], Self.now))
        }
    }

    @Test("A full table stays within its bounds, loses no send from the totals, and a flood displaces its own rows")
    func flood() {
        var table = Self.table(rows: 1000)
        var expected = 0
        for day in 0..<10 {
            for user in 0..<20 {
                Self.add(&table, .accepted, 5, from: "user\(user)", to: "friend", at: Self.now - Int64(day) * Self.day)
                expected += 5
            }
        }
        let honest = table.rows.count
        for number in 0..<20_000 {
            Self.add(&table, from: "mallory", to: "victim\(number)", at: Self.now - Int64(number % 5) * Self.day)
            expected += 1
            #expect(table.rows.count <= 1000)
        }
        let all = Self.statistics(table) { $0.limit = 5000 }
        #expect(all.total.total + all.others.total == expected)
        #expect(all.others.total > 0)
        #expect(
            table.rows.count { table.names.text(of: UInt32(table.pairs[Int($0.pair)] >> 32)) != "mallory" } == honest)
        #expect(all.rows.prefix(20).allSatisfy { $0.counts.accepted == 50 && $0.recipient == "friend" })
        // Names and pairs of removed rows are gone too.
        #expect(table.names.count < 1200 && table.pairs.count <= 1000)
    }

    @Test("Of a sender's rows the oldest go first, and in a bucket those with the fewest sends")
    func order() {
        var table = Self.table(rows: 40)
        for number in 1...20 {
            Self.add(&table, .accepted, number, from: "a", to: "old\(number)", at: Self.now - 9 * Self.day)
        }
        for number in 1...5 { Self.add(&table, .accepted, number, from: "a", to: "new\(number)", at: Self.now) }
        table.makeRoom()
        #expect(table.rows.count == 21)
        func names() -> Set<String?> { Set(Self.statistics(table).rows.map(\.recipient)) }
        #expect(names() == Set((10...20).map { "old\($0)" } + (1...5).map { "new\($0)" }))
        for _ in 0..<3 { table.makeRoom() }
        // Both rows of the pairs with the fewest sends of the day are gone.
        #expect(names() == ["new3", "new4", "new5"])
        #expect(table.rows.count { $0.bucket.isHour } == 3)
    }

    @Test("Names are bounded by their bytes")
    func names() {
        var table = Self.table(rows: 100_000, nameBytes: 10_000)
        for number in 0..<3000 {
            let name = String(repeating: "n", count: 100) + "\(number)"
            Self.add(&table, from: "a", to: name, at: Self.now)
            #expect(table.names.text.count <= 10_200)
        }
        let found = Self.statistics(table)
        #expect(found.total.total + found.others.total == 3000)
    }

    @Test("The level is the largest that keeps the total")
    func level() {
        #expect(PairTable.level(of: [1, 2, 100, 50], total: 43) == 20)
        #expect(PairTable.level(of: [1, 2, 3], total: 6) == .max)
        #expect(PairTable.level(of: [10, 10, 10], total: 6) == 2)
        #expect(PairTable.level(of: [], total: 6) == .max)
    }

    @Test("Hours end after three days, days after 400 or with the journal's oldest record")
    func expiry() {
        var table = Self.table()
        for days in [0, 1, 2, 3, 100, 398, 399, 400, 500] {
            Self.add(&table, from: "a", to: "b", at: Self.now - Int64(days) * Self.day)
        }
        for time in [-1, Self.now + 3 * Self.day, .max] { Self.add(&table, from: "a", to: "b", at: time) }
        #expect(Self.statistics(table).total.total == 7)
        #expect(table.rows.count { $0.bucket.isHour } == 3)
        table.expire(to: PairRetention(now: Self.now + Self.day))
        #expect(Self.statistics(table).total.total == 6)
        #expect(table.rows.count { $0.bucket.isHour } == 2)
        table.expire(to: PairRetention(now: Self.now + Self.day, oldest: Self.now - 5 * Self.day))
        #expect(Self.statistics(table).total.total == 4)
        // A record from the future shows a wrong clock.
        table.expire(to: PairRetention(now: Self.now, oldest: Self.now + 900 * Self.day))
        #expect(Self.statistics(table).total.total == 1)
    }

    @Test("The rows of a pair that are used come first, however many it has")
    func recency() {
        var table = Self.table()
        Self.add(&table, from: "a", to: "b", at: Self.now)
        for days in 1..<100 { Self.add(&table, from: "a", to: "b", at: Self.now - Int64(days) * Self.day) }
        for _ in 0..<3 { Self.add(&table, from: "a", to: "b", at: Self.now) }
        let head = Int(table.heads[0])
        let first = [head, Int(table.rows[head].next)].map { table.rows[$0].bucket }
        #expect(Set(first) == Set([StatisticsBucket.day(of: Self.now), .hour(of: Self.now)].compactMap(\.self)))
        #expect(Self.statistics(table).total.accepted == 103)
        #expect(table.rows.count == 103)
        for days in 0..<100 {
            let found = Self.statistics(table) {
                $0.since = WallTime(microseconds: Self.now - Int64(days) * Self.day)
                $0.until = WallTime(microseconds: Self.now - Int64(days) * Self.day + 1)
            }
            #expect(found.total.accepted == (days == 0 ? 4 : 1))
        }
    }

    @Test("Counters saturate")
    func saturation() {
        var table = Self.table()
        for _ in 0..<3 { Self.add(&table, .refused, 1 << 40, from: "a", to: "b", at: Self.now) }
        #expect(Self.statistics(table).total.refused == Int(UInt32.max))
    }
}

extension WordTable {
    /// The text of a word.
    fileprivate func text(of number: UInt32) -> String { String(decoding: text[range(of: number)], as: UTF8.self) }
}
