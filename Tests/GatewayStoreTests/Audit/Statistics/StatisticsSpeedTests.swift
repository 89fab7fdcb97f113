import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Statistics: a million rows", .timeLimit(.minutes(5)))
struct StatisticsSpeedTests {
    private static let rows = TestRun.count(full: 1_000_000, otherwise: 20_000)

    @Test("A query of a full table, and making room in it, take a bounded time")
    func speed() throws {
        let now: Int64 = 1_795_027_200_000_000
        var table = PairTable(limits: .init(rows: Self.rows), retention: PairRetention(now: now))
        var random = SplitMix(seed: 3)
        let names = (0..<10_000).map { number in
            Array("user-\(number)@example.com".utf8).withUnsafeBytes { table.names.number(of: $0) }
        }
        func add(_ count: Int) {
            for _ in 0..<count {
                table.add(
                    .accepted, 1, from: names[Int.random(in: 0..<names.count, using: &random)],
                    to: names[Int.random(in: 0..<names.count, using: &random)], at: now)
            }
        }
        let clock = ContinuousClock()
        let filling = clock.measure { while !table.isFull { add(1) } }
        var query = PairQuery(limit: PairQuery.maximumLimit)
        var found: PairStatistics?
        let asking = clock.measure { found = table.statistics(query, now: now) }
        #expect(found?.rows.count == min(PairQuery.maximumLimit, table.pairs.count))
        query.user = UserName(canonical: "user-7@example.com")
        let selecting = clock.measure { found = table.statistics(query, now: now) }
        let clearing = clock.measure { table.makeRoom() }
        #expect(table.rows.count <= Self.rows / 4 * 3)
        if TestRun.isFull {
            print(
                "\(Self.rows) rows: added in \(filling), all pairs \(asking), of a user \(selecting), room made \(clearing)"
            )
        }
        // A debug build needs about ten times as long as a release build.
        for taken in [asking, selecting, clearing] { #expect(taken < .seconds(TestRun.isFull ? 10 : 1)) }
    }
}
