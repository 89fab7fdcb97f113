import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Audit: the index of the segment in use", .timeLimit(.minutes(5)))
struct PartialIndexTests {
    /// So small that the segments of the tests have parts of each size.
    private static let sizes = PartialIndex.PartSizes(small: 1500, large: 8000)

    static func trail(_ fixture: JournalFixture) -> AuditTrail {
        let trail = AuditTrail(SegmentFiles(directory: fixture.directory.path), partSizes: sizes)
        trail.allowIndexes()
        return trail
    }

    static func send(_ number: Int, _ random: inout SplitMix) -> [JournalRecord] {
        var facts = JournalFixture.facts(number, to: ["bob", "carol", "user\(number)"].randomElement(using: &random))
        facts.user = UserName(canonical: ["alice", "dave", "eve"].randomElement(using: &random) ?? "alice")
        facts.pns = PushService.allCases.randomElement(using: &random)
        facts.rule = Bool.random(using: &random) ? "would-refuse" : "send[0]"
        if Int.random(in: 0..<9, using: &random) == 0 {
            facts.limit = "sends"
            let count = Int.random(in: 2..<9, using: &random)
            return [JournalRecord(.rejection, facts: facts, result: RejectionCode.rateLimited.rawValue, count: count)]
        }
        let result = [CallResult.accepted, .backendUnreachable].randomElement(using: &random) ?? .accepted
        return [JournalRecord(.intent, facts: facts), JournalRecord(.outcome, facts: facts, result: result.rawValue)]
    }

    static func answers(_ trail: AuditTrail, isBrief: Bool = true) throws -> AuditFixture.Answers {
        var answers = try AuditFixture.answers(trail, isBrief: isBrief)
        for name in ["bob", "user7", "nobody"] {
            let user = try #require(UserName(canonical: name))
            for limit in [2, 1000] {
                let found = try trail.received(by: user, since: WallTime(microseconds: 0), limit: limit)
                answers["received by \(name), \(limit)"] = "\(found)"
            }
            var query = AuditQuery()
            query.user = user
            let page = try trail.page(query, limit: 5, isOfCalls: true, mostExamined: 1000)
            answers["page of \(name)"] = "\(page)"
        }
        return answers
    }

    @Test("Random queries between random appends and rotations find what the segments contain", arguments: 0..<4)
    func agreement(seed: UInt64) async throws {
        var random = SplitMix(seed: seed)
        let fixture = JournalFixture(segmentBytes: 40_000)
        let trail = Self.trail(fixture)
        defer { trail.close() }
        let journal = try fixture.open()
        var number = 0
        for round in 0..<24 {
            for _ in 0..<Int.random(in: 0..<12, using: &random) {
                try await journal.record(Self.send(number, &random))
                fixture.hands.pass(seconds: 60)
                number += 1
            }
            switch Int.random(in: 0..<6, using: &random) {
            case 0: continue
            case 1: try trail.index.buildMissing()
            case 2: try trail.index.follow(encodes: false)
            default: try trail.index.follow()
            }
            // These lines follow the update.
            for _ in 0..<Int.random(in: 0..<8, using: &random) {
                try await journal.record(Self.send(number, &random))
                number += 1
            }
            let isBrief = round % 6 != 5
            let expected = try Self.answers(AuditTrail(directory: fixture.directory.path), isBrief: isBrief)
            #expect(try Self.answers(trail, isBrief: isBrief) == expected)
            guard !isBrief else { continue }
            // A fresh index that encodes everything at once.
            let fresh = Self.trail(fixture)
            #expect(fresh.update() == nil)
            #expect(try Self.answers(fresh, isBrief: false) == expected)
        }
        await journal.close()
        #expect(try JournalReading.segments(in: fixture.directory).count > 1)
    }

    @Test("Lines that a failed write left are not found, before and after the segment is closed", arguments: 1..<12)
    func failedWrites(call: Int) async throws {
        let fixture = JournalFixture(segmentBytes: 8000)
        let journal = try fixture.open()
        let trail = Self.trail(fixture)
        defer { trail.close() }
        fixture.files.fail([call], leaving: .all)
        var random = SplitMix(seed: UInt64(call))
        for number in 0..<12 {
            do throws(JournalUnavailable) {
                try await journal.record(Self.send(number, &random))
            } catch {
                try trail.index.follow()
                await fixture.untilWell(journal)
            }
            let expected = try Self.answers(AuditTrail(directory: fixture.directory.path))
            #expect(try Self.answers(trail) == expected)
            try trail.index.follow()
            #expect(try Self.answers(trail) == expected)
        }
        await journal.close()
    }

    @Test("An update encodes the new lines, and each line a bounded number of times; parts are few")
    func cost() throws {
        var lines = SegmentIndexBuilder(first: 1)
        var partial = PartialIndex(first: 1, Self.sizes)
        var (encoded, bytesOfLine) = (0, 0)
        for number in 0..<2000 {
            let line =
                #"{"seq":\#(number + 1),"at":"2026-11-21T07:00:00.000000Z","kind":"intent","user":"u\#(number % 7)"}"#
            try lines.add(Array((line + "\n").utf8), before: nil)
            bytesOfLine = max(bytesOfLine, line.utf8.count + 1)
            guard number % 3 == 0 else { continue }
            let cost = partial.extend(to: lines)
            // The new lines, and either a small part or the lines of a new large one.
            #expect(cost <= 3 + (Self.sizes.large + Self.sizes.small) / (bytesOfLine - 8))
            encoded += cost
            // Nothing is encoded for a second query.
            #expect(partial.extend(to: lines) == 0)
            #expect(partial.indexes.reduce(0) { $0 + $1.header.count(of: .rows) } == lines.rows.count)
            #expect(partial.bytes == lines.bytes && partial.latestNumber == UInt64(number + 1))
            let large = lines.bytes / Self.sizes.large
            #expect(partial.indexes.count <= large + Self.sizes.large / Self.sizes.small + 2)
        }
        // A small part of 1,500 bytes grows by three lines at a time, so it is encoded three times on average.
        #expect(encoded < 2000 * 6)
        // All at once: only the rest is less than a large part.
        var whole = PartialIndex(first: 1, Self.sizes)
        #expect(whole.extend(to: lines) == 2000)
        #expect(whole.indexes.count == (lines.bytes + Self.sizes.large - 1) / Self.sizes.large)
    }

    @Test("Queries share what is encoded; without queries nothing is; at most two segments have an index in memory")
    func sharing() async throws {
        let fixture = JournalFixture(segmentBytes: 30_000)
        let journal = try fixture.open()
        let index = Self.trail(fixture).index
        var random = SplitMix(seed: 1)
        func write(_ numbers: Range<Int>) async throws {
            for number in numbers { try await journal.record(Self.send(number, &random)) }
        }
        try await write(0..<20)
        try index.follow(encodes: false)
        #expect(index.encodedLines.value == 0 && index.state.withLock { $0.partial.isEmpty })
        try index.follow()
        let encoded = index.encodedLines.value
        #expect(encoded > 20)
        try index.follow()
        #expect(index.encodedLines.value == encoded)
        // Once a query was there, updates without one encode too.
        try await write(20..<30)
        try index.follow(encodes: false)
        #expect(index.encodedLines.value > encoded)
        for round in 1..<10 {
            try await write((round * 30)..<(round * 30 + 30))
            try index.follow()
            #expect(index.state.withLock { $0.partial.count } <= 2)
        }
        try index.buildMissing()
        #expect(index.state.withLock { $0.partial.count } == 1)
        #expect(index.finished.withLock { $0 == nil })
        await journal.close()
        index.close()
        #expect(index.state.withLock { $0.partial.isEmpty })
    }

    @Test(
        "A segment that was followed to its end is not read again to write its index, which is the same as a fresh one")
    func finished() async throws {
        let fixture = JournalFixture(segmentBytes: 10_000)
        let journal = try fixture.open()
        let index = Self.trail(fixture).index
        var random = SplitMix(seed: 2)
        var finished = 0
        for number in 0..<80 {
            try await journal.record(Self.send(number, &random))
            if try index.follow() {
                finished += index.finished.withLock { $0 == nil } ? 0 : 1
                #expect(index.unindexedBytes.value == 0)
                try index.buildMissing()
            }
        }
        await journal.close()
        #expect(finished > 3)
        guard case .agrees(let lines) = AuditTrail.compareIndex(directory: fixture.directory.path) else {
            Issue.record("an index differs from a fresh one")
            return
        }
        #expect(lines > 60)
    }
}
