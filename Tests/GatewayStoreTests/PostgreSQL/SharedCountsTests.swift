import GatewayCore
import GatewayTesting
import PostgreSQLClient
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("The counts of all nodes' calls", .enabled(if: PostgreSQLServer.isInstalled), .timeLimit(.minutes(5)))
struct SharedCountsTests {
    private static let instances = CountsFixture.instances
    private static let day = StatisticsBucket.day

    /// Lines of all kinds, most of them in the last days.
    private static func randomLines(
        _ count: Int, now: Int64, _ random: inout some RandomNumberGenerator
    ) -> [CountedRow] {
        let users = ["alice", "bob", "carol", "dave", nil]
        let results = CallResult.allCases.map(\.rawValue) + ["ban-ended", nil]
        return (0..<count).map { _ in
            let age: Int64 =
                switch Int.random(in: 0..<10, using: &random) {
                case 0: Int64.random(in: 0..<500 * day, using: &random)
                case 1: -Int64.random(in: 0..<3 * day, using: &random)
                case 2: Int64.random(in: 0..<120_000_000, using: &random)
                default: Int64.random(in: 0..<5 * day, using: &random)
                }
            return CountedRow(
                kind: ["outcome", "outcome", "outcome", "refusal", "intent", "replay"].randomElement(using: &random)
                    ?? "",
                action: ["send", "send", "send", "register", nil].randomElement(using: &random) ?? nil,
                user: users.randomElement(using: &random) ?? nil,
                recipient: users.randomElement(using: &random) ?? nil,
                result: results.randomElement(using: &random) ?? nil,
                count: Bool.random(using: &random) ? Int.random(in: 0..<50, using: &random) : nil,
                milliseconds: Bool.random(using: &random) ? Int.random(in: 0..<7000, using: &random) : nil,
                time: now - age)
        }
    }

    /// Counts the lines in memory, as a gateway with a journal of its own does.
    private static func counted(_ lines: [CountedRow], now: Int64) throws -> StatisticsState {
        let clock = ManualClock(wall: WallTime(microseconds: now))
        var state = StatisticsState(limits: .init(), began: ComparedTime(clock.clocks))
        state.begin([], now: now)
        var vocabulary = SegmentVocabulary()
        var names: [String] = []
        func number(_ name: String?) -> UInt32 {
            guard let name else { return SegmentIndex.none }
            if !names.contains(name) { names.append(name) }
            return UInt32(names.firstIndex(of: name) ?? 0)
        }
        for line in lines {
            let effect = CountedLine(
                kind: line.kind, action: line.action, result: line.result, count: Int64(line.count ?? 1),
                latency: line.milliseconds.map { LatencyBuckets.bucket(of: UInt64($0)) })
            let (sender, recipient) = (number(line.user), number(line.recipient))
            state.count(effect, at: line.time, from: sender, to: recipient, &vocabulary, now: now) {
                ArraySlice(names[Int($0)].utf8)
            }
        }
        return state
    }

    @Test("The counts are those that a gateway with one journal has, before and after days are added up")
    func equalCounts() async throws {
        var random = SplitMix(seed: 7)
        let fixture = try CountsFixture(.init(linesAtOnce: 70))
        defer { fixture.close() }
        let lines = Self.randomLines(2000, now: fixture.now, &random)
        try fixture.add(Array(lines[..<900]))
        try fixture.add(Array(lines[900..<1000]), chain: 1)
        try fixture.add(Array(lines[1000...]), of: Self.instances[1])
        #expect(try await fixture.update() > 20)
        let expected = try Self.counted(lines, now: fixture.now)
        try await compare(fixture, expected)
        // These hours are older than three days, and would have become days meanwhile.
        try fixture.rows.shared.run(
            """
            UPDATE pair_count SET bucket = bucket + 2 * 5 + 1
                WHERE bucket % 2 = 0 AND bucket < \((fixture.now / Self.day - 2) * 48)
            """)
        try await fixture.counts.maintain(checksAll: true)
        try await compare(fixture, expected)
    }

    private func compare(_ fixture: CountsFixture, _ expected: borrowing StatisticsState) async throws {
        let now = fixture.now
        func time(_ days: Double) -> WallTime { WallTime(microseconds: now - Int64(days * Double(Self.day))) }
        for (since, until) in [
            (nil, nil), (time(1), nil), (time(0.3), time(0.1)), (time(4.6), time(3.2)), (time(2.9), nil),
        ] {
            for change: (inout PairQuery) -> Void in [
                { _ in }, { $0.user = UserName(canonical: "bob") }, { $0.sender = UserName(canonical: "alice") },
                { $0.recipient = UserName(canonical: "carol") }, { $0.result = .failed }, { $0.limit = 4 },
                {
                    $0.user = UserName(canonical: "bob")
                    $0.sender = UserName(canonical: "bob")
                    $0.result = .refused
                },
            ] {
                var query = PairQuery(limit: PairQuery.maximumLimit)
                (query.since, query.until) = (since, until)
                change(&query)
                let found = try await fixture.history.pairs(query)
                let wanted = expected.pairs.statistics(query, now: now)
                if query.limit > 4 { #expect(StatisticsFixture.text(found) == StatisticsFixture.text(wanted)) }
                #expect(found.rows.map { selected($0, query) } == wanted.rows.map { selected($0, query) })
                #expect(found.total == wanted.total && found.omittedPairs == wanted.omittedPairs)
                #expect(found.range == wanted.range)
            }
        }
        // The range does not depend on the minutes that pass meanwhile.
        let (first, end) = (time(23.0 / 24), time(0.1))
        let minutes = try await fixture.history.minutes(since: first, until: end).minutes
        #expect(minutes == expected.minutes.minutes(since: first.microseconds, until: end.microseconds, now: now))
        #expect(
            minutes.count > 1200 && minutes.contains { $0.sends.total > 0 } && minutes.contains { $0.otherRefusals > 0 }
        )
    }

    private func selected(_ row: PairStatistics.Row, _ query: PairQuery) -> Int {
        query.result.map { row.counts[$0] } ?? row.counts.total
    }

    @Test("Each line counts once, also if two nodes count at once and new lines appear")
    func concurrentCounting() async throws {
        let fixture = try CountsFixture(.init(linesAtOnce: 10))
        let other = SharedCounts(fixture.rows.settings, clocks: .system, limits: .init(linesAtOnce: 7))
        defer {
            fixture.close()
            other.close()
        }
        for round in 0..<5 {
            try fixture.add(
                (0..<200).map { _ in CountedRow(time: fixture.now) }, from: 200 * round + 1)
            async let first = fixture.update()
            while try await other.update() {}
            _ = try await first
        }
        try await fixture.update()
        #expect(try await fixture.pairs().total.accepted == 1000)
        #expect(try await fixture.history.minutes(since: nil, until: nil).minutes.map(\.sends.accepted).max() == 1000)
    }

    @Test("The coverage says up to which time all lines are counted")
    func coverage() async throws {
        let fixture = try CountsFixture()
        defer { fixture.close() }
        #expect(try await fixture.pairs().coverage.isComplete)
        let hour: Int64 = 3_600_000_000
        try fixture.add([CountedRow(time: fixture.now - 2 * hour), CountedRow(time: fixture.now - hour)])
        let before = try await fixture.pairs().coverage
        #expect(!before.isComplete && before.countedUntil == WallTime(microseconds: fixture.now - 2 * hour))
        try await fixture.update()
        try fixture.add([CountedRow(time: fixture.now - hour)], from: 3)
        #expect(try await fixture.pairs().coverage.countedUntil == WallTime(microseconds: fixture.now - hour))
        try await fixture.update()
        let after = try await fixture.history.minutes(since: nil, until: nil).coverage
        #expect(after.isComplete && after.countedFrom == WallTime(microseconds: fixture.now - 2 * hour))
        #expect(after.nextNumber == nil)
    }

    @Test("Too many pairs of an hour become a number without names; the most frequent ones stay")
    func tooManyPairs() async throws {
        let fixture = try CountsFixture(.init(pairsPerBucket: 10))
        defer { fixture.close() }
        let lines = (0..<30).map { CountedRow(user: "user\($0)", count: 1 + $0, time: fixture.now - 60_000_000) }
        try fixture.add(lines)
        try await fixture.update()
        try await fixture.counts.maintain(checksAll: false)
        let found = try await fixture.pairs()
        #expect(found.rows.map(\.sender) == (20..<30).reversed().map { "user\($0)" })
        #expect(found.others.accepted == (1...20).reduce(0, +))
        // A few more are kept until there are twice as many.
        try fixture.add((30..<35).map { CountedRow(user: "user\($0)", time: fixture.now - 60_000_000) }, from: 31)
        try await fixture.update()
        try await fixture.counts.maintain(checksAll: true)
        #expect(try await fixture.pairs().rows.count == 15)
    }

    @Test("Pairs that are removed in several steps are those with the fewest sends")
    func manySteps() async throws {
        let fixture = try CountsFixture(.init(pairsPerBucket: 10, pairsAtOnce: 7))
        defer { fixture.close() }
        try fixture.add((0..<60).map { CountedRow(user: "user\($0)", count: 1 + $0, time: fixture.now - 60_000_000) })
        try await fixture.update()
        try await fixture.counts.maintain(checksAll: false)
        let found = try await fixture.pairs()
        #expect((10...20).contains(found.rows.count))
        #expect(found.rows.map(\.sender) == (0..<60).reversed().prefix(found.rows.count).map { "user\($0)" })
        #expect(found.total.accepted + found.others.accepted == (1...60).reduce(0, +))
    }

    @Test("A step that fails is repeated with half of the lines")
    func failedStep() async throws {
        let fixture = try CountsFixture(.init(linesAtOnce: 8))
        defer { fixture.close() }
        try fixture.add((0..<8).map { _ in CountedRow(time: fixture.now) })
        try fixture.rows.shared.run("ALTER TABLE pair_count RENAME TO missing")
        await #expect(throws: LedgerUnavailable.self) { try await fixture.counts.update() }
        try fixture.rows.shared.run("ALTER TABLE missing RENAME TO pair_count")
        #expect(try await fixture.counts.update())
        #expect(try await fixture.pairs().total.accepted == 4)
        try await fixture.update()
        #expect(try await fixture.pairs().total.accepted == 8)
    }

    @Test("A sender with very many recipients displaces own pairs, not those of others")
    func displacement() async throws {
        let fixture = try CountsFixture(.init(pairsPerBucket: 10))
        defer { fixture.close() }
        let time = fixture.now - 60_000_000
        try fixture.add(
            (0..<50).map { CountedRow(user: "mallory", recipient: "user\($0)", count: 2, time: time) }
                + (0..<5).map { CountedRow(user: "user\($0)", time: time) })
        try await fixture.update()
        try await fixture.counts.maintain(checksAll: false)
        let senders = try await fixture.pairs().rows.map(\.sender)
        #expect(senders.count == 10 && Set(senders) == Set((0..<5).map { "user\($0)" } + ["mallory"]))
    }

    @Test("Forged lines with long names and huge counts keep no other lines from being counted")
    func forgedLines() async throws {
        let fixture = try CountsFixture()
        defer { fixture.close() }
        var random = SplitMix(seed: 11)
        let name = String(
            (0..<1400).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random) ?? "a" })
        let huge = CountedRow(user: "mallory", count: .max, time: fixture.now)
        try fixture.add([
            CountedRow(user: name, recipient: name, time: fixture.now), huge, huge,
            CountedRow(user: "mallory", recipient: "carol", time: Int64.max / 1_000_000), CountedRow(time: fixture.now),
        ])
        try await fixture.update()
        let rows = try await fixture.pairs().rows
        #expect(rows.map(\.sender) == ["mallory", "alice"])
        #expect(rows.map(\.counts.accepted) == [Int(UInt32.max), 1])
        let minutes = try await fixture.history.minutes(since: nil, until: nil).minutes
        #expect(minutes.map(\.sends.accepted).max() == Int(UInt32.max))
    }

    @Test("The old lines of one journal do not keep the lines of others waiting")
    func fairness() async throws {
        let fixture = try CountsFixture(.init(linesAtOnce: 20))
        defer { fixture.close() }
        try fixture.add((0..<500).map { _ in CountedRow(time: fixture.now) })
        try fixture.add((0..<5).map { _ in CountedRow(user: "carol", time: fixture.now) }, of: Self.instances[1])
        #expect(try await fixture.counts.update())
        #expect(try await fixture.pairs { $0.sender = UserName(canonical: "carol") }.total.accepted == 5)
    }

    @Test("The counts are incomplete while a live gateway copies no journal")
    func uncopiedJournal() async throws {
        let fixture = try CountsFixture()
        defer { fixture.close() }
        try fixture.rows.addNode(Self.instances[1], host: "gw2")
        try fixture.rows.shared.keepAlive()
        #expect(try await !fixture.pairs().coverage.isComplete)
        try fixture.add([CountedRow(time: fixture.now)], of: Self.instances[1])
        try await fixture.update()
        #expect(try await fixture.pairs().coverage.isComplete)
    }

    @Test("Counts of days whose lines were removed are removed")
    func removal() async throws {
        let fixture = try CountsFixture()
        defer { fixture.close() }
        try fixture.add([
            CountedRow(time: fixture.now - 20 * Self.day), CountedRow(user: "carol", time: fixture.now - 10 * Self.day),
        ])
        try await fixture.update()
        #expect(try await fixture.pairs().rows.count == 2)
        try fixture.rows.shared.run("DELETE FROM journal_line WHERE \"user\" = 'alice'")
        try await fixture.counts.maintain(checksAll: false)
        #expect(try await fixture.pairs().rows.map(\.sender) == ["carol"])
        try fixture.rows.shared.run("DELETE FROM journal_line; DELETE FROM journal_copy")
        try await fixture.update()
        try await fixture.counts.maintain(checksAll: false)
        #expect(try await fixture.pairs().rows.isEmpty)
    }
}
