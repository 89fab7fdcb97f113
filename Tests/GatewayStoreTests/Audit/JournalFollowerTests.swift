import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import Testing

@testable import GatewayStore

@Suite("Journal: followers", .timeLimit(.minutes(2)))
struct JournalFollowerTests {
    private static let bounds = JournalFollower.Bounds(lines: 3, bytes: 1 << 20)

    private static func numbers(_ excerpt: JournalExcerpt) -> [UInt64] {
        excerpt.lines.split(separator: UInt8(ascii: "\n")).compactMap { JournalLineReader(bytes: $0).sequence }
    }

    /// Reads all lines from the position on.
    private static func all(
        _ fixture: JournalFixture, from position: JournalPosition = .oldest,
        within bounds: JournalFollower.Bounds = bounds
    ) throws -> (numbers: [UInt64], missing: UInt64, position: JournalPosition) {
        let follower = JournalFollower(directory: fixture.directory.path)
        let end = fixture.configuration.followers.durableEnd
        var (found, missing, position): ([UInt64], UInt64, JournalPosition) = ([], 0, position)
        while position.next < end {
            let excerpt = try follower.read(from: position, before: end, within: bounds)
            #expect(excerpt.count <= bounds.lines && excerpt.count == numbers(excerpt).count)
            guard excerpt.position != position else { break }
            found += numbers(excerpt)
            missing += excerpt.missing
            position = excerpt.position
        }
        return (found, missing, position)
    }

    @Test("All lines are read once and in order, across segments, while the journal is open and afterwards")
    func complete() async throws {
        let fixture = JournalFixture(segmentBytes: 3000)
        let journal = try fixture.open()
        for number in 0..<40 {
            try await journal.record([JournalFixture.intent(number), JournalFixture.outcome(number)])
        }
        let open = try Self.all(fixture)
        #expect(open.numbers == Array(1...81) && open.missing == 0 && open.position.next == 82)
        try await journal.record([JournalFixture.rejection(1)])
        #expect(try Self.all(fixture, from: open.position).numbers == [82])
        await journal.close()
        #expect(try Self.all(fixture, from: open.position).numbers == [82, 83])
        #expect(try Self.all(fixture, within: .init(lines: 1000, bytes: 1)).numbers == Array(1...83))
    }

    @Test("A changed line is missing, also if its hash was changed with it", arguments: [false, true])
    func changed(isRehashed: Bool) async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        for number in 0..<4 {
            try await journal.record([JournalFixture.intent(number), JournalFixture.outcome(number)])
        }
        let end = fixture.configuration.followers.durableEnd
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let bytes = try fixture.directory.bytes(name)
        var lines = bytes.split(separator: 0x0A).map(Array.init)
        let altered = ForgedLine.altered(lines[3])
        #expect(altered != lines[3])
        lines[3] =
            isRehashed
            ? try ForgedLine.hashed(altered, number: "4", previous: ForgedLine.hash(of: lines[2])) : altered
        try fixture.directory.write(Array(lines.map { $0 + [0x0A] }.joined()), to: name)
        let excerpt = try JournalFollower(directory: fixture.directory.path)
            .read(from: .oldest, before: end, within: .init(lines: 100, bytes: 1 << 20))
        #expect(Self.numbers(excerpt) == (1..<end).filter { $0 != 4 } && excerpt.missing == 1)
        #expect(excerpt.lines.firstRange(of: Array("mallory".utf8)) == nil)
        await journal.close()
    }

    @Test("A line that is not on disk is not read, also after its segment was sealed")
    func durable() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record([JournalFixture.rejection(1)])
        let end = fixture.configuration.followers.durableEnd
        #expect(end == 3)
        try await journal.record([JournalFixture.rejection(2)])
        let follower = JournalFollower(directory: fixture.directory.path)
        let excerpt = try follower.read(from: .oldest, before: end, within: Self.bounds)
        #expect(Self.numbers(excerpt) == [1, 2])
        await journal.close()
        // The lines of a failed write follow the last valid line of a sealed segment, whose successor repeats their numbers.
        let names = try JournalReading.segments(in: fixture.directory)
        let bytes = try fixture.directory.bytes(names[0])
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        let repeated = lines[2...].flatMap { Array($0) + [UInt8(ascii: "\n")] }
        try fixture.directory.write(repeated, to: JournalSegmentName(first: 3).text)
        #expect(try Self.all(fixture).numbers == [1, 2, 3, 4])
    }

    @Test("A wrong offset, a removed segment and a truncated segment")
    func damage() async throws {
        let fixture = JournalFixture(segmentBytes: 3000)
        let journal = try fixture.open()
        for number in 0..<40 {
            try await journal.record([JournalFixture.intent(number), JournalFixture.outcome(number)])
        }
        await journal.close()
        let names = try JournalReading.segments(in: fixture.directory).compactMap { JournalSegmentName($0) }
        for offset in [1, 100, 1 << 40] {
            let position = JournalPosition(next: 2, segment: 1, offset: offset)
            #expect(try Self.all(fixture, from: position).numbers == Array(2...82), "\(offset)")
        }
        try FileManager.default.removeItem(atPath: fixture.directory(names[0].text))
        var found = try Self.all(fixture, from: JournalPosition(before: 2))
        #expect(found.numbers == Array(names[1].first...82) && found.missing == names[1].first - 2)
        // The oldest line is wherever the journal begins.
        #expect(try Self.all(fixture).missing == 0)
        let bytes = try fixture.directory.bytes(names[1].text)
        let cut = try #require(bytes.dropLast().lastIndex(of: UInt8(ascii: "\n")))
        try fixture.directory.write(Array(bytes[...cut]), to: names[1].text)
        found = try Self.all(fixture, from: JournalPosition(before: names[1].first))
        #expect(found.missing == 1 && found.numbers.count == Int(82 - names[1].first))
    }

    @Test("A line with a damaged number is missing alone")
    func damagedNumber() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        for number in 0..<20 { try await journal.record([JournalFixture.rejection(number)]) }
        await journal.close()
        let name = try #require(JournalReading.segments(in: fixture.directory).first)
        let text = String(decoding: try fixture.directory.bytes(name), as: UTF8.self)
        let all = try Self.all(fixture).numbers
        try fixture.directory.write(Array(text.replacing(#"{"seq":10,"#, with: #"{"seq":90,"#).utf8), to: name)
        let found = try Self.all(fixture)
        #expect(found.numbers == all.filter { $0 != 10 } && found.missing == 1)
    }

    @Test("Retention by age keeps the lines that a follower needs, retention by size does not")
    func retention() async throws {
        var fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(3600)
        let time = fixture.hands.time
        fixture.files.state.withLock { $0.modified = time }
        let followers = fixture.configuration.followers
        followers.require(from: 1, by: "a")
        followers.require(from: 50, by: "b")
        let journal = try fixture.open()
        for number in 0..<30 {
            try await journal.record([JournalFixture.intent(number), JournalFixture.outcome(number)])
        }
        func pass() async throws {
            fixture.hands.pass(seconds: 7200)
            for number in 1000..<1002 { try await journal.record([JournalFixture.rejection(number)]) }
            #expect(await journal.check() == nil)
        }
        for _ in 0..<4 { try await pass() }
        #expect(try JournalReading.segments(in: fixture.directory).first == JournalSegmentName(first: 1).text)
        followers.release("a")
        for _ in 0..<12 { try await pass() }
        let kept = try JournalReading.segments(in: fixture.directory).compactMap { JournalSegmentName($0) }
        #expect(kept[0].first > 1 && kept[0].first <= 50 && kept[1].first > 50 - 20)
        journal.apply(.init(minimumFree: 0, keep: .seconds(3600), keepBytes: 3000))
        for _ in 0..<12 { try await pass() }
        let first = try #require(
            JournalReading.segments(in: fixture.directory).first.flatMap { JournalSegmentName($0) })
        #expect(first.first > 50)
        await journal.close()
        #expect(
            fixture.log.lines(.error).contains { $0.contains("Journal segment removed that a sink has not confirmed") })
    }
}
