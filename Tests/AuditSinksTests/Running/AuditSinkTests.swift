import Foundation
import GatewayStore
import GatewayTesting
import Testing

@testable import AuditSinks

@Suite("Audit sinks: position, retention, reload", .timeLimit(.minutes(2)))
struct AuditSinkTests {
    private static func file(
        _ fixture: SinkFixture, _ file: String = "out.jsonl", name: String = "sink",
        start: AuditSinkSettings.Start = .now
    ) -> AuditSinkSettings {
        AuditSinkSettings(name: name, target: .file("\(fixture.directory.path)/\(file)"), start: start)
    }

    private static func numbers(_ fixture: SinkFixture, _ name: String = "out.jsonl") throws -> [Int] {
        lineNumbers(try fixture.directory.text(of: name).utf8)
    }

    @Test("A file gets all lines, is created again after a rotation, and a torn line is separated")
    func file() async throws {
        let fixture = try SinkFixture(segmentBytes: 4000)
        await fixture.sinks.apply([Self.file(fixture)])
        try await fixture.record(0..<20)
        await fixture.untilConfirmed()
        #expect(try fixture.directory.mode(of: "out.jsonl") == 0o600)
        try FileManager.default.moveItem(
            atPath: "\(fixture.directory.path)/out.jsonl", toPath: "\(fixture.directory.path)/out.jsonl.1")
        try await fixture.record(20..<40)
        await fixture.untilConfirmed()
        #expect(try Self.numbers(fixture, "out.jsonl.1") == Array(1...41))
        #expect(try Self.numbers(fixture) == Array(42...81))
        // As a crash during a write leaves it.
        let text = try fixture.directory.text(of: "out.jsonl")
        try fixture.directory.write(text + #"{"seq":82,"at"#, to: "out.jsonl")
        try await fixture.record(40..<41)
        await fixture.untilConfirmed()
        let lines = try fixture.directory.text(of: "out.jsonl").split(separator: "\n")
        #expect(lines.filter { !$0.hasSuffix("}") } == [#"{"seq":82,"at"#])
        #expect(lines.suffix(2).flatMap { lineNumbers($0.utf8) } == [82, 83])
        await fixture.close()
    }

    @Test("A file with other content is left as it is")
    func foreignFile() async throws {
        let fixture = try SinkFixture()
        let path = try fixture.directory.write("users: {}\n", to: "out.jsonl")
        #expect(SinkFile.isForeign(path) && !SinkFile.isForeign(path + "x"))
        await fixture.sinks.apply([Self.file(fixture)])
        await fixture.waits.wait { $0.count >= 2 }
        #expect(try fixture.directory.text(of: "out.jsonl") == "users: {}\n")
        await fixture.close()
    }

    @Test("While the cursor cannot be written the sink waits; the batch is not sent again")
    func cursorFailure() async throws {
        let fixture = try SinkFixture()
        await fixture.sinks.apply([Self.file(fixture)])
        await fixture.untilConfirmed()
        // A directory in place of the draft fails like a full disk.
        let draft = fixture.cursor().path + ".new"
        try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: false)
        try await fixture.record(0..<5)
        await fixture.waits.wait { $0.count >= 3 }
        try await fixture.record(5..<10)
        #expect(try Self.numbers(fixture) == Array(1...11))
        try FileManager.default.removeItem(atPath: draft)
        await fixture.untilConfirmed()
        #expect(try Self.numbers(fixture) == Array(1...21))
        await fixture.close()
    }

    @Test("An unconfirmed batch is sent again after a crash, and no record is lost")
    func crash() async throws {
        let fixture = try SinkFixture()
        await fixture.sinks.apply([Self.file(fixture)])
        try await fixture.record(0..<5)
        await fixture.untilConfirmed()
        let kept = try Data(contentsOf: URL(fileURLWithPath: fixture.cursor().path))
        try await fixture.record(5..<10)
        await fixture.untilConfirmed()
        await fixture.close()
        // The state of a crash after the write and before the cursor.
        try kept.write(to: URL(fileURLWithPath: fixture.cursor().path))
        let next = try SinkFixture(fixture.directory)
        await next.sinks.apply([Self.file(next)])
        await next.untilConfirmed()
        let numbers = try Self.numbers(next)
        #expect(numbers == Array(1...21) + Array(12...23))
        await next.close()
    }

    @Test("A new sink begins with the present run or with the oldest record")
    func start() async throws {
        let first = try SinkFixture()
        try await first.record(0..<5)
        await first.close()
        let fixture = try SinkFixture(first.directory)
        await fixture.sinks.apply([
            Self.file(fixture, "now", name: "now"), Self.file(fixture, "old", name: "old", start: .oldest),
        ])
        await fixture.untilConfirmed("now")
        await fixture.untilConfirmed("old")
        #expect(try Self.numbers(fixture, "now") == [13])
        #expect(try Self.numbers(fixture, "old") == Array(1...13))
        // A sink that a reload adds begins with the records after it.
        await fixture.sinks.apply([Self.file(fixture, "added", name: "added")])
        try await fixture.record(0..<1)
        await fixture.untilConfirmed("added")
        #expect(try Self.numbers(fixture, "added") == [14, 15])
        await fixture.close()
    }

    @Test("A reload keeps equal sinks, moves changed ones with their position, and stops removed ones")
    func reload() async throws {
        let fixture = try SinkFixture()
        await fixture.sinks.apply([Self.file(fixture, "a", name: "a"), Self.file(fixture, "b", name: "b")])
        try await fixture.record(0..<5)
        await fixture.untilConfirmed("a")
        await fixture.untilConfirmed("b")
        await fixture.sinks.apply([Self.file(fixture, "a2", name: "a")])
        try await fixture.record(5..<10)
        await fixture.untilConfirmed("a")
        #expect(try Self.numbers(fixture, "a") == Array(1...11))
        #expect(try Self.numbers(fixture, "a2") == Array(12...21))
        #expect(try Self.numbers(fixture, "b") == Array(1...11))
        #expect(await fixture.sinks.readings.map(\.name) == ["a"])
        // A sink that returns continues where it was.
        await fixture.sinks.apply([Self.file(fixture, "a2", name: "a"), Self.file(fixture, "b", name: "b")])
        await fixture.untilConfirmed("b")
        #expect(try Self.numbers(fixture, "b") == Array(1...21))
        await fixture.close()
    }

    @Test("Beyond the maximum size the journal removes unconfirmed records, and the sink counts them and goes on")
    func retentionBound() async throws {
        let fixture = try SinkFixture(segmentBytes: 4000, keepBytes: 20_000)
        let folder = "\(fixture.directory.path)/out"
        // The directory of the file does not exist yet.
        await fixture.sinks.apply([Self.file(fixture, "out/log")])
        await fixture.waits.wait { !$0.isEmpty }
        for call in 0..<200 { try await fixture.record(call..<call + 1) }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        await fixture.untilConfirmed()
        let numbers = try Self.numbers(fixture, "out/log")
        let lost = try #require(await fixture.reading()).lost
        // The batch that the sink held when it failed is complete, then a gap follows.
        #expect(lost > 100)
        #expect(numbers.first == 1)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(UInt64(numbers.count) + lost == fixture.followers.durableEnd - 1)
        await fixture.close()
    }

    @Test("A cursor beyond the end of a replaced journal begins with the oldest record")
    func replacedJournal() async throws {
        let fixture = try SinkFixture()
        try fixture.cursor().store(JournalPosition(next: 1000, segment: 900, offset: 10))
        await fixture.sinks.apply([Self.file(fixture)])
        try await fixture.record(0..<1)
        await fixture.untilConfirmed()
        #expect(try Self.numbers(fixture) == [1, 2, 3])
        #expect(await fixture.reading()?.lost == 0)
        await fixture.close()
    }

    @Test("A damaged cursor sends all records again")
    func damagedCursor() async throws {
        let fixture = try SinkFixture()
        try fixture.directory.write("?", to: "journal.sink-sink")
        SinkCursor.require([Self.file(fixture)], journal: "\(fixture.directory.path)/journal", by: fixture.followers)
        await fixture.sinks.apply([Self.file(fixture)])
        await fixture.untilConfirmed()
        #expect(try Self.numbers(fixture) == [1])
        await fixture.close()
    }
}
