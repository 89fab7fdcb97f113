import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

/// Arbitrary states of a journal's directory, as somebody can make them who can write there and does not have the signing key.
///
/// In no state may a trap end the process. And if the journal is good according to verification and the comparison of the
/// indexes, then lists show what its writer wrote, and nothing else, up to the ledger's checkpoint.
@Suite("Journal: any state of its directory", .timeLimit(.minutes(240)))
struct JournalDirectoryTests {
    private static let shards = 8
    private static let states = TestRun.count(full: 100_000, otherwise: 240) / shards

    @Test("Stopped, and started again", arguments: 0..<shards)
    func stopped(shard: Int) async throws {
        let origins = try await Self.origins()
        for number in 0..<(Self.states * 3 / 4) {
            let seed = UInt64(shard * 1_000_000 + number)
            let origin = origins[number % origins.count]
            var forged = try ForgedDirectory(origin, seed: seed)
            let changes = try forged.change()
            try Self.check(forged.directory, origin, "\(seed): \(changes)")
            try await Self.restart(forged.directory, origin, "\(seed): \(changes), then started")
        }
    }

    @Test("Changed while the journal is written", arguments: 0..<shards)
    func running(shard: Int) async throws {
        let origins = try await Self.origins()
        for number in 0..<(Self.states / 4) {
            let seed = UInt64(500_000_000 + shard * 1_000_000 + number)
            let origin = origins[number % origins.count]
            var forged = try ForgedDirectory(origin, seed: seed)
            var fixture = Fixture(forged.directory, segmentBytes: 3000, isSigned: true)
            let ledger = MemoryCheckpoint(origin.known)
            fixture.configuration.ledger = ledger
            let journal = try fixture.open()
            for call in 5000..<5003 { try? await journal.record([Fixture.intent(call), Fixture.outcome(call)]) }
            let changes = try forged.change()
            for call in 5003..<5009 {
                fixture.hands.pass(seconds: 11)
                try? await journal.record([Fixture.intent(call), Fixture.outcome(call)])
            }
            await journal.close()
            try Self.check(
                forged.directory, origin, "\(seed): \(changes), while written", known: ledger.journalCheckpoint())
        }
    }

    /// Journals whose segments were full, with a failed write, with a removal by retention, and with a crash.
    private static func origins() async throws -> [JournalOrigin] {
        var origins: [JournalOrigin] = []
        for kind in 0..<4 {
            var fixture = Fixture(segmentBytes: 3000, isSigned: true)
            let ledger = MemoryCheckpoint(nil)
            fixture.configuration.ledger = ledger
            if kind == 2 { fixture.configuration.keepBytes = 9000 }
            for run in 0..<2 {
                let journal = try fixture.open()
                for call in 0..<(kind == 2 ? 24 : 8) {
                    fixture.hands.pass(seconds: 1)
                    if kind == 1, call == 4 {
                        fixture.files.fail([1], leaving: .all)
                        _ = try? await journal.record([Fixture.intent(run * 100 + 50)])
                        await fixture.untilWell(journal)
                    }
                    try await journal.record([Fixture.intent(run * 100 + call), Fixture.outcome(run * 100 + call)])
                }
                if kind == 3, run == 1 {
                    // The lines since the start are signed by no checkpoint.
                    let crashed = try fixture.afterCrash()
                    origins.append(try JournalOrigin(crashed, known: try ledger.journalCheckpoint()))
                }
                await journal.close()
            }
            if kind < 3 { origins.append(try JournalOrigin(fixture, known: try ledger.journalCheckpoint())) }
        }
        return origins
    }

    /// Verifies the journal and its indexes as `audit verify` does. Returns whether it would print OK.
    private static func isGood(_ directory: TemporaryDirectory, _ known: StoredCheckpoint?) -> Bool {
        var verification = JournalVerification(directory: directory.path, keys: [Fixture.key.publicKey])
        verification.known = known
        guard let report = try? verification.run(), report.isGood else { return false }
        switch AuditTrail.compareIndex(directory: directory.path) {
        case .absent, .agrees: return true
        case .differs, .unreadable: return false
        }
    }

    private static func check(
        _ directory: TemporaryDirectory, _ origin: JournalOrigin, _ what: String, known: StoredCheckpoint? = nil
    ) throws {
        let isGood = isGood(directory, known ?? origin.known)
        let bob = try #require(UserName(canonical: "bob"))
        // The tail, a list and the counts are read in any state.
        var tail = JournalTail(directory: directory.path)
        _ = try? tail.last(5)
        _ = try? tail.next()
        _ = try? JournalFollower(directory: directory.path)
            .read(from: .oldest, before: .max, within: .init(lines: 1000, bytes: 1 << 20))
        let plain = try? shown(AuditTrail(directory: directory.path), bob)
        let trail = AuditTrail(directory: directory.path)
        let obstacle = trail.update()
        let indexed = try? shown(trail, bob)
        trail.close()
        guard isGood else { return }
        #expect(obstacle == nil, "\(what)")
        for found in [plain, indexed] {
            let found = try #require(found, "\(what)")
            let lines = found.lines.filter {
                JournalLineReader(bytes: $0[...]).sequence ?? 0 <= origin.known?.number ?? 0
            }
            #expect(lines == origin.protected, "\(what)")
            #expect(found.senders == plain?.senders, "\(what)")
        }
    }

    private static func shown(
        _ trail: AuditTrail, _ user: UserName
    ) throws -> (lines: [[UInt8]], senders: [SenderSummary]) {
        var lines: [[UInt8]] = []
        try trail.lines(AuditQuery()) { lines.append($0) }
        // Through the index of the recipient, too.
        return (lines, try trail.senders(to: user, since: WallTime(microseconds: 0)))
    }

    /// Starts the journal, records a call and checks it again. A start may be refused.
    private static func restart(_ directory: TemporaryDirectory, _ origin: JournalOrigin, _ what: String) async throws {
        var fixture = Fixture(directory, segmentBytes: 3000, isSigned: true)
        let ledger = MemoryCheckpoint(origin.known)
        fixture.configuration.ledger = ledger
        fixture.configuration.indexedSegments = AuditIndex(directory: directory.path)
        guard let journal = try? fixture.open() else { return }
        try? JournalFile.readKeyedSends(in: directory.path, since: WallTime(microseconds: 0)) { _ in }
        fixture.hands.pass(seconds: 3700)
        let isRecorded = (try? await journal.record([Fixture.intent(9000), Fixture.outcome(9000)])) != nil
        await journal.close()
        try check(directory, origin, what, known: ledger.journalCheckpoint())
        if isRecorded, isGood(directory, try ledger.journalCheckpoint()) {
            var calls = 0
            var query = AuditQuery()
            query.call = Fixture.call(9000)
            try AuditTrail(directory: directory.path).lines(query) { _ in calls += 1 }
            #expect(calls == 2, "\(what)")
        }
    }
}

/// The checkpoint of a ledger in memory.
final class MemoryCheckpoint: JournalCheckpointStore {
    private let stored: Mutex<StoredCheckpoint?>

    init(_ checkpoint: StoredCheckpoint?) { stored = Mutex(checkpoint) }

    func journalCheckpoint() throws(LedgerUnavailable) -> StoredCheckpoint? { stored.withLock { $0 } }
    func store(_ checkpoint: StoredCheckpoint) throws(LedgerUnavailable) { stored.withLock { $0 = checkpoint } }
}
