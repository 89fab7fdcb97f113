import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Audit: segments that are removed during a read", .timeLimit(.minutes(5)))
struct VanishingSegmentTests {
    private static func remove(_ name: String, _ fixture: AuditFixture) {
        try? FileManager.default.removeItem(atPath: fixture.directory(name))
    }

    @Test("The index update succeeds")
    func updating() async throws {
        let fixture = try await AuditFixture()
        let names = try JournalReading.segments(in: fixture.directory)
        #expect(names.count > 4)
        let index = AuditIndex(directory: fixture.directory.path)
        // The segment was listed and not yet read.
        try index.update(progress: { _, _ in
            Self.remove(names[0], fixture)
            Self.remove(names[1], fixture)
        })
        try index.update()
        index.close()
        let trail = AuditTrail(directory: fixture.directory.path)
        let expected = try AuditFixture.answers(trail)
        #expect(try fixture.asked().answers == expected)
    }

    @Test("A query continues with the remaining segments", arguments: [true, false])
    func querying(byIndex: Bool) async throws {
        let fixture = try await AuditFixture()
        let names = try JournalReading.segments(in: fixture.directory)
        let trail = AuditTrail(directory: fixture.directory.path)
        defer { trail.close() }
        if byIndex { #expect(trail.update() == nil) }
        var numbers: [Int] = []
        try trail.lines(AuditQuery(), limit: 100_000) { line in
            numbers.append(try JournalReading.line(line).seq)
            Self.remove(names[2], fixture)
        }
        let gone = try #require(Int(names[2].dropFirst(8).dropLast(6)))
        let next = try #require(Int(names[3].dropFirst(8).dropLast(6)))
        #expect(numbers.first == 1 && !numbers.contains(gone) && numbers.contains(next))
    }

    @Test("Verification starts after removed segments and reports one that is missing between others")
    func verifying() async throws {
        let fixture = try await AuditFixture()
        let names = try JournalReading.segments(in: fixture.directory)
        func verified(removing: [String]) throws -> JournalVerification.Report {
            let copy = try fixture.copy()
            return try JournalVerification(directory: copy.directory.path, keys: []).run { done, _ in
                if done > 0 { for name in removing { Self.remove(name, copy) } }
            }
        }
        let begun = try #require(UInt64(names[2].dropFirst(8).dropLast(6)))
        let retired = try verified(removing: [names[0], names[1]])
        #expect(retired.first == begun && retired.lines > 0)
        #expect(try verified(removing: [names[1]]).finding?.what.contains("lines are missing") == true)
    }

    @Test("A start reads the sends of the last day from the remaining segments")
    func keyedSends() async throws {
        let fixture = try await AuditFixture()
        // The segment is listed and removed before it is opened.
        symlink("/nowhere", fixture.directory("journal-00000000000000000000.jsonl"))
        #expect(try IdempotentSendReaderTests.sends(in: fixture.directory.path, since: WallTime(seconds: 0)).isEmpty)
    }

    @Test("Recovery continues without a listed segment")
    func recovering() async throws {
        let fixture = try await AuditFixture()
        let files = ObservedFileSystem(also: "journal-00000000000000009999.jsonl")
        let found = try JournalRecovery(directory: fixture.directory.path, files: files).run()
        #expect(Int(found.chain.next) == (try fixture.journal.lines().count) + 1)
    }

    @Test("The tail reads the remaining segments, and a forged last number does not stop it")
    func following() async throws {
        let fixture = try await AuditFixture()
        var tail = JournalTail(directory: fixture.directory.path)
        let last = try tail.last(3)
        #expect(last.count == 3)
        let names = try JournalReading.segments(in: fixture.directory)
        Self.remove(try #require(names.last), fixture)
        #expect(try tail.next().isEmpty)
        try fixture.directory.write(
            Array("{\"seq\":18446744073709551615,\"at\":\"\",\"kind\":\"stop\"}\n".utf8), to: try #require(names.last))
        var forged = JournalTail(directory: fixture.directory.path)
        _ = try forged.last(3)
        _ = try forged.next()
    }
}
