import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Audit: queries on the journal", .timeLimit(.minutes(5)))
struct AuditIndexTests {
    private static func name(_ text: String) throws -> UserName { try #require(UserName(canonical: text)) }

    private static func record(
        _ kind: JournalRecord.Kind, _ number: Int, _ sender: String, _ recipient: String,
        _ service: PushService = .apns,
        result: String? = nil, count: Int? = nil
    ) -> JournalRecord {
        var facts = Fixture.facts(number, to: recipient)
        facts.user = UserName(canonical: sender)
        facts.pns = service
        return JournalRecord(kind, facts: facts, result: result, count: count)
    }

    private static func send(
        _ number: Int, _ sender: String, _ recipient: String, _ service: PushService = .apns,
        result: CallResult = .accepted
    ) -> [JournalRecord] {
        [
            record(.intent, number, sender, recipient, service),
            record(.outcome, number, sender, recipient, service, result: result.rawValue),
        ]
    }

    private static func trail(_ fixture: JournalFixture) throws -> AuditTrail {
        let trail = AuditTrail(directory: fixture.directory.path)
        #expect(trail.update() == nil)
        return trail
    }

    private static func texts(_ index: AuditTrail, _ query: AuditQuery, limit: Int = .max) throws -> [ReadLine] {
        var lines: [ReadLine] = []
        try index.lines(query, limit: limit) { lines.append(try JournalReading.line($0)) }
        return lines
    }

    /// Records calls of three users over several segments.
    private static func filled(_ fixture: JournalFixture) async throws {
        let journal = try fixture.open()
        for number in 0..<20 {
            try await journal.record(
                send(number, number % 2 == 0 ? "alice" : "carol", "bob", number % 3 == 0 ? .fcm : .apns))
            fixture.hands.pass(seconds: 60)
        }
        try await journal.record(send(30, "alice", "carol"))
        try await journal.record(send(31, "carol", "bob", result: .backendUnreachable))
        journal.append(record(.rejection, 32, "eve", "bob", result: "rate-limited", count: 7))
        journal.append(record(.rejection, 33, "carol", "bob", result: "send-not-allowed"))
        await journal.close()
    }

    @Test("Lines are found by each condition and returned as stored in the journal")
    func lines() async throws {
        let fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let index = try Self.trail(fixture)
        let all = try fixture.lines()
        #expect(try Self.texts(index, AuditQuery()).map(\.text) == all.map(\.text))

        func expect(_ query: AuditQuery, _ fits: (ReadLine) -> Bool) throws {
            let wanted = all.filter(fits)
            #expect(try Self.texts(index, query).map(\.seq) == wanted.map(\.seq))
            #expect(try Self.texts(index, query, limit: 3).map(\.seq) == wanted.suffix(3).map(\.seq))
        }
        func asking(_ set: (inout AuditQuery) throws -> Void) rethrows -> AuditQuery {
            var query = AuditQuery()
            try set(&query)
            return query
        }
        try expect(asking { $0.user = try Self.name("carol") }) { $0.members["user"] as? String == "carol" }
        try expect(asking { $0.from = try Self.name("alice") }) { $0.members["user"] as? String == "alice" }
        try expect(asking { $0.to = try Self.name("carol") }) { $0.recipient == "carol" }
        try expect(asking { $0.action = .send }) { $0.members["action"] as? String == "send" }
        try expect(asking { $0.result = "backend-unreachable" }) { $0.result == "backend-unreachable" }
        try expect(asking { $0.call = Fixture.call(7) }) { $0.call == Fixture.call(7) }
        try expect(asking { $0.result = "nothing" }) { _ in false }
        let tenth = try #require((all[20].members["at"] as? String).flatMap { WallTime(rfc3339: $0) })
        try expect(asking { $0.since = tenth }) { ($0.members["at"] as? String ?? "") >= tenth.description }
        try expect(asking { $0.until = tenth }) { ($0.members["at"] as? String ?? "") < tenth.description }
        var several = AuditQuery()
        several.to = try Self.name("bob")
        several.result = "rate-limited"
        #expect(try Self.texts(index, several).map(\.result) == ["rate-limited"])
        #expect(try index.lines(AuditQuery(), limit: 3) { _ in })
        #expect(try !index.lines(AuditQuery(), limit: all.count) { _ in })
    }

    @Test("Senders of a user: counts sends that may have reached the backend and separates rejections")
    func senders() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        try await Self.filled(fixture)
        let index = try Self.trail(fixture)
        let start = fixture.configuration.clocks.wall().adding(-3_600_000_000)
        let found = try index.senders(to: try Self.name("bob"), since: start)
        #expect(found.map(\.sender.text) == ["alice", "carol", "eve"])
        #expect(found.map(\.count) == [10, 10, 0])
        #expect(found.map(\.refused) == [0, 1, 7])
        #expect(found[0].platforms == ["apns", "fcm"])
        let (first, last) = (try #require(found[0].first), try #require(found[0].last))
        #expect(last.microseconds - first.microseconds == 18 * 60_000_000)
        #expect(found[2].first == nil)
        let late = try index.senders(
            to: try Self.name("bob"), since: fixture.configuration.clocks.wall().adding(-150_000_000))
        #expect(late.map(\.count) == [1, 1, 0])
        #expect(try index.senders(to: try Self.name("nobody"), since: start).isEmpty)
    }

    @Test("Lines appended later are found, in the same segment, the next one, and after a restart")
    func growing() async throws {
        let fixture = JournalFixture(segmentBytes: 3000, isSigned: true)
        try PrivateFiles.makeDirectory(fixture.directory.path)
        let index = AuditTrail(directory: fixture.directory.path)
        for round in 0..<4 {
            let journal = try fixture.open()
            for number in 0..<6 {
                try await journal.record(Self.send(round * 10 + number, "alice", "bob"))
                #expect(index.update() == nil)
                #expect(try Self.texts(index, AuditQuery()).map(\.text) == fixture.lines().map(\.text))
            }
            await journal.close()
        }
    }

    @Test("Blocks of any size give the same indexes, and an interrupted update continues", arguments: [1, 700, 5000])
    func blocks(of bytes: Int) async throws {
        let fixture = JournalFixture(segmentBytes: 9000)
        try await Self.filled(fixture)
        let index = AuditTrail(SegmentFiles(directory: fixture.directory.path, blockBytes: bytes))
        var left = 2
        #expect(
            index.update(isWanted: {
                left -= 1
                return left >= 0
            }) == nil)
        let all = try fixture.lines().map(\.text)
        // Queries read what is not indexed yet.
        #expect(try Self.texts(index, AuditQuery()).map(\.text) == all)
        #expect(index.update() == nil)
        #expect(try Self.texts(index, AuditQuery()).map(\.text) == all)
        guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("the indexes differ from those that are built at once")
            return
        }
    }

    @Test(
        "Removed, truncated, replaced or damaged segments update the index"
    )
    func following() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        try await Self.filled(fixture)
        let index = try Self.trail(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let all = try fixture.lines()
        // Retention removes the oldest segment.
        try FileManager.default.removeItem(atPath: fixture.directory(names[0]))
        #expect(index.update() == nil)
        let second = try #require(Int(names[1].dropFirst(8).dropLast(6)))
        #expect(try Self.texts(index, AuditQuery()).map(\.seq) == all.map(\.seq).filter { $0 >= second })
        // Recovery truncates the last segment.
        let last = try #require(names.last)
        let lines = try fixture.directory.bytes(last).split(separator: 0x0A)
        try fixture.directory.write(Array(lines.dropLast().joined(separator: [0x0A])) + [0x0A], to: last)
        #expect(index.update() == nil)
        #expect(try Self.texts(index, AuditQuery()).last?.seq == all.count - 1)
        // The journal is replaced by another one.
        let other = JournalFixture(segmentBytes: 2000)
        try await Self.filled(other)
        for name in try JournalReading.segments(in: fixture.directory) {
            try FileManager.default.removeItem(atPath: fixture.directory(name))
        }
        try fixture.directory.write(Array("{\"seq\":1,no\n\nrubbish\n".utf8), to: names[0])
        #expect(index.update() == nil)
        #expect(try Self.texts(index, AuditQuery()).isEmpty)
        index.close()
    }

    @Test("A closed segment that was replaced by one of another size is indexed again")
    func replacedSegment() async throws {
        let fixture = JournalFixture(segmentBytes: 2000)
        try await Self.filled(fixture)
        let index = try Self.trail(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let lines = try fixture.directory.bytes(names[1]).split(separator: 0x0A)
        try fixture.directory.write(Array(lines.dropLast().joined(separator: [0x0A])) + [0x0A], to: names[1])
        #expect(index.update() == nil)
        let scanned = AuditTrail(directory: fixture.directory.path)
        let expected = try Self.texts(scanned, AuditQuery()).map(\.text)
        #expect(try Self.texts(index, AuditQuery()).map(\.text) == expected)
        guard case .agrees = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("not indexed again")
            return
        }
    }

    @Test("Lines of a failed write, whose numbers the next segment reuses, are not found")
    func voidLines() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record(Self.send(1, "alice", "bob"))
        fixture.files.fail([1], leaving: .all)
        let index = AuditTrail(directory: fixture.directory.path)
        await #expect(throws: JournalUnavailable.self) {
            try await journal.record((2..<9).flatMap { Self.send($0, "mallory", "bob") })
        }
        // During the outage the index of the segment in use may contain the void lines.
        #expect(index.update() == nil)
        await fixture.untilWell(journal)
        try await journal.record(Self.send(20, "carol", "bob"))
        #expect(index.update() == nil)
        #expect(try Self.texts(index, AuditQuery()).map(\.text) == fixture.lines().map(\.text))
        await journal.close()
    }
}
