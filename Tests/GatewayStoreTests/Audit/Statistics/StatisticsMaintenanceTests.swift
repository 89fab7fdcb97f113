import Dispatch
import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Statistics: a full table", .timeLimit(.minutes(5)))
struct StatisticsMaintenanceTests {
    private static let now: Int64 = 1_795_027_200_000_000

    private static func write(_ numbers: Range<Int>, to journal: JournalFile) async throws {
        for number in numbers {
            try await journal.record([Fixture.intent(number), Fixture.outcome(number, to: "user\(number)")])
        }
    }

    private static func total(_ fixture: StatisticsFixture) async throws -> Int {
        let found = try await fixture.pairs()
        return found.total.total + found.others.total
    }

    @Test("The lock is free while room is made; lines that arrive meanwhile count later, once")
    func maintenance() async throws {
        let fixture = Fixture()
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture, limits: .init(rows: 60))
        statistics.statistics.fills.suspend()
        try await Self.write(0..<50, to: journal)
        // The table is full before all lines are counted, and the journal's thread makes no room.
        try statistics.count()
        let counted = try #require(statistics.nextNumber)
        #expect(statistics.statistics.state.withLock { $0?.pairs.hasRoom == false && $0?.pairs.generation == 0 })
        try statistics.count()
        #expect(statistics.nextNumber == counted)
        try await Self.write(50..<60, to: journal)
        var wasFree = false
        statistics.statistics.maintain {
            wasFree = statistics.statistics.state.withLockIfAvailable { $0?.isCopied == true } ?? false
            #expect(throws: Never.self) { try statistics.count() }
            #expect(statistics.nextNumber == counted)
        }
        #expect(wasFree)
        #expect(statistics.statistics.state.withLock { $0?.pairs.hasRoom == true && $0?.isCopied == false })
        try statistics.count()
        #expect(try #require(statistics.nextNumber) > counted)
        statistics.statistics.fills.resume()
        try statistics.updateAll()
        #expect(try await Self.total(statistics) == 60)
        await journal.close()
        try statistics.updateAll()
        #expect(try await Self.total(statistics) == 60)
        statistics.statistics.close()
    }

    @Test("The thread that follows the journal does not wait for the lock, and nothing is lost or counted twice")
    func contention() async throws {
        let fixture = Fixture(segmentBytes: 10_000)
        let journal = try fixture.open()
        let statistics = StatisticsFixture(fixture)
        let follower = DispatchQueue(label: "follower")
        for round in 0..<6 {
            try await Self.write((round * 20)..<(round * 20 + 20), to: journal)
            let before = statistics.nextNumber
            statistics.statistics.state.withLock { _ in
                let isDone = DispatchSemaphore(value: 0)
                follower.async {
                    #expect(throws: Never.self) { try statistics.count() }
                    isDone.signal()
                }
                // If it waited for the lock, it would never end.
                isDone.wait()
            }
            #expect(statistics.nextNumber == before)
            if round % 2 == 0 { try statistics.updateAll() }
        }
        await journal.close()
        try statistics.updateAll()
        let found = try await statistics.pairs()
        #expect(found.coverage.isComplete)
        let everything = WallTime(microseconds: 0)..<WallTime(microseconds: .max)
        #expect(StatisticsFixture.text(found) == CountedByHand(lines: try fixture.lines()).pairs(everything))
        statistics.statistics.close()
    }

    @Test("A table whose names are full has room for a quarter of them afterwards, whichever rows they belong to")
    func names() {
        var table = PairTable(limits: .init(rows: 100_000, nameBytes: 40_000), retention: PairRetention(now: Self.now))
        func number(_ name: String) -> UInt32 { Array(name.utf8).withUnsafeBytes { table.names.number(of: $0) } }
        var sends = 0
        func add(from sender: String, to recipient: String, daysAgo: Int64 = 0) {
            if !table.hasRoom { table.maintain(to: PairRetention(now: Self.now)) }
            table.add(
                .accepted, 1, from: number(sender), to: number(recipient), at: Self.now - daysAgo * StatisticsBucket.day
            )
            sends += 1
        }
        // One sender has most rows and hardly any names, the others have one row and a long name each.
        for day in 0..<390 { for user in 0..<20 { add(from: "flood", to: "u\(user)", daysAgo: Int64(day)) } }
        let long = String(repeating: "n", count: 100)
        var rebuilds = 0
        for user in 0..<3000 {
            let generation = table.generation
            add(from: "s\(user % 10)", to: "\(long)\(user)")
            guard table.generation != generation else { continue }
            rebuilds += 1
            #expect(table.names.text.count <= 30_000 + 200)
        }
        // 3,000 names of 104 bytes at most, of which 10,000 bytes go each time.
        #expect(rebuilds <= 3000 * 104 / 10_000 + 1)
        var query = PairQuery(limit: 5000)
        query.result = nil
        let found = table.statistics(query, now: Self.now)
        #expect(found.total.total + found.others.total == sends)
    }

    @Test("A send that has room never enlarges a large table")
    func enlargement() {
        var table = PairTable(limits: .init(rows: 400_000), retention: PairRetention(now: Self.now))
        let names = (0..<500).map { number in
            Array("user\(number)".utf8).withUnsafeBytes { table.names.number(of: $0) }
        }
        var (maintained, capacities) = (0, [Int]())
        var pair = 0
        while pair < 150_000 {
            if !table.hasRoom {
                table.maintain(to: PairRetention(now: Self.now))
                maintained += 1
                capacities = []
            }
            #expect(table.hasRoom)
            table.add(.accepted, 1, from: names[pair / 500], to: names[pair % 500], at: Self.now)
            pair += 1
            guard table.rows.count > 1 << 17, pair % 16 == 0 else { continue }
            let now = [table.rows.capacity, table.pairs.capacity, table.heads.capacity, table.slots.count]
            if capacities.isEmpty { capacities = now }
            #expect(now == capacities)
        }
        #expect(table.rows.count == 300_000 && maintained >= 2 && maintained < 10)
        #expect(table.generation == 0)
    }

    @Test("An empty or tiny table has room after maintenance", arguments: [0, 1, 2, 9])
    func tiny(rows: Int) {
        var table = PairTable(limits: .init(rows: rows, nameBytes: rows), retention: PairRetention(now: Self.now))
        for number in 0..<100 {
            if !table.hasRoom { table.maintain(to: PairRetention(now: Self.now)) }
            #expect(table.hasRoom)
            let name = Array("user\(number)".utf8).withUnsafeBytes { table.names.number(of: $0) }
            table.add(.accepted, 1, from: name, to: name, at: Self.now)
        }
        let found = table.statistics(PairQuery(), now: Self.now)
        #expect(found.total.total + found.others.total == 100)
    }
}
