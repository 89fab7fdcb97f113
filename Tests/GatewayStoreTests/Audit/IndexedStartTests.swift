import Foundation
import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Audit: what a start reads from the indexes", .timeLimit(.minutes(5)))
struct IndexedStartTests {
    /// Writes a journal of several segments and runs, with sends to one user and to audiences, with and without
    /// idempotency keys. Some outcomes come late, and some never.
    private static func filled(_ random: inout SplitMix) async throws -> JournalFixture {
        let fixture = JournalFixture(segmentBytes: 4000, isSigned: true)
        var number = 0
        for run in 0..<3 {
            let journal = try fixture.open()
            var late: [JournalRecord] = []
            for _ in 0..<25 {
                number += 1
                var facts = Fixture.facts(number)
                facts.pns = .fcm
                facts.digest = KeyedDigest([UInt8](repeating: 5, count: 16))
                if Int.random(in: 0..<3, using: &random) == 0 {
                    facts.idempotencyKey = KeyedDigest([UInt8](repeating: UInt8(number), count: 16))
                }
                let recipients = Array(["bob", "carol", "dave"].prefix(Int.random(in: 1...3, using: &random)))
                for recipient in recipients {
                    facts.recipient = UserName(canonical: recipient)
                    facts.audience = recipients.count > 1 ? "team" : nil
                    try await journal.record([JournalRecord(.intent, facts: facts)])
                    let outcome = JournalRecord(.outcome, facts: facts, result: "accepted")
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0 where run == 2: break
                    case 0...2: late.append(outcome)
                    default: journal.append(outcome)
                    }
                }
                fixture.hands.pass(seconds: 1)
                if late.count > 6 { for _ in 0..<4 { journal.append(late.removeFirst()) } }
            }
            for outcome in late.dropLast(run == 2 ? 3 : 0) { journal.append(outcome) }
            try await journal.record([])
            if run < 2 { await journal.close() } else { return try fixture.afterCrash() }
        }
        return fixture
    }

    @Test("A start finds the same intents without an outcome and the same keyed sends as from the segments")
    func equality() async throws {
        var random = SplitMix(seed: 7)
        var found = 0
        for round in 0..<20 {
            let crashed = try await Self.filled(&random)
            let directory = crashed.directory.path
            let expected = try JournalRecovery(directory: directory, files: SystemFileSystem()).run()
            let sends = try IdempotentSendReaderTests.sends(in: directory, since: WallTime(seconds: 0))
            let index = AuditIndex(directory: directory)
            try index.update()
            let recovered = try JournalRecovery(directory: directory, files: SystemFileSystem(), indexed: index).run()
            #expect(recovered.entries.map(\.members) == expected.entries.map(\.members), "round \(round)")
            let indexed = try IdempotentSendReaderTests.sends(
                in: directory, since: WallTime(seconds: 0), indexed: index)
            #expect("\(indexed)" == "\(sends)" && !sends.isEmpty, "round \(round)")
            found += expected.entries.count
            // A damaged index is not used.
            let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasPrefix("index-") }
            #expect(names.count > 4)
            var damage = IndexDamage(seed: UInt64(round))
            for name in names {
                try IndexDamage.overwrite("\(directory)/\(name)", with: damage.apply(to: crashed.directory.bytes(name)))
            }
            let repaired = try JournalRecovery(directory: directory, files: SystemFileSystem(), indexed: index).run()
            #expect(repaired.entries.map(\.members) == expected.entries.map(\.members), "round \(round)")
        }
        #expect(found > 40)
    }

    @Test("A start with indexes reads no closed segment but the last ones")
    func unreadSegments() async throws {
        var random = SplitMix(seed: 8)
        let crashed = try await Self.filled(&random)
        let directory = crashed.directory.path
        let index = AuditIndex(directory: directory)
        try index.update()
        let files = ObservedFileSystem()
        _ = try JournalRecovery(directory: directory, files: files, indexed: index).run()
        let segments = try JournalReading.segments(in: crashed.directory)
        #expect(Set(files.readNames.withLock { $0 }) == Set(segments.suffix(2)))
    }
}
