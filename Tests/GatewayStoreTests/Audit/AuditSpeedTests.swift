import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Audit: a million records", .timeLimit(.minutes(20)))
struct AuditSpeedTests {
    private static let count = TestRun.count(full: 1_000_000, otherwise: 10_000)

    @Test("Verification takes less than 10 s, and a query less than a second")
    func speed() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        for first in stride(from: 0, to: Self.count / 2, by: 500) {
            try await journal.record(
                (first..<(first + 500)).flatMap { number in
                    var facts = Fixture.facts(number, to: "user\(number % 1009)")
                    facts.user = UserName(canonical: "user\(number % 997)")
                    facts.pns = PushService.allCases[number % PushService.allCases.count]
                    facts.digest = KeyedDigest([UInt8](repeating: 7, count: 16))
                    return [
                        JournalRecord(.intent, facts: facts),
                        JournalRecord(.outcome, facts: facts, result: "accepted", status: 200, milliseconds: 9),
                    ]
                })
            fixture.hands.pass(seconds: 1)
        }
        await journal.close()
        let clock = ContinuousClock()
        var report: JournalVerification.Report?
        let verifying = try clock.measure { report = try fixture.verified() }
        #expect(report?.finding == nil)
        #expect(Int(report?.lines ?? 0) > Self.count)

        let index = AuditTrail(directory: fixture.directory.path)
        let indexing = clock.measure { index.update() }
        let again = clock.measure { index.update() }
        let user = try #require(UserName(canonical: "user7"))
        var senders: [SenderSummary] = []
        let summing = try clock.measure { senders = try index.senders(to: user, since: WallTime(microseconds: 0)) }
        #expect(senders.reduce(0) { $0 + $1.count } == (0..<(Self.count / 2)).count { $0 % 1009 == 7 })
        var query = AuditQuery()
        query.from = user
        var lines = 0
        let listing = try clock.measure { try index.lines(query, limit: 1000) { _ in lines += 1 } }
        #expect(lines > 0)
        query = AuditQuery()
        query.result = "accepted"
        let scanning = try clock.measure { try index.lines(query, limit: 1000) { _ in } }
        if TestRun.isFull {
            print(
                "\(Self.count) records: verified \(verifying), indexed \(indexing), brought up to date \(again), "
                    + "who-notified \(summing), listed by sender \(listing), by result \(scanning)")
            #expect(verifying < .seconds(10))
            for asking in [again, summing, listing, scanning] { #expect(asking < .seconds(1)) }
        }
    }
}
