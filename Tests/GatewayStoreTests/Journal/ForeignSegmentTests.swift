import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Glibc
import Logging
import Testing

@testable import GatewayStore

private typealias Fixture = JournalFixture

/// Files that somebody without the signing key has put among the segments, or that have grown.
@Suite("Journal: foreign segments", .timeLimit(.minutes(5)))
struct ForeignSegmentTests {
    private static func filled(_ fixture: JournalFixture, calls: Range<Int> = 0..<40) async throws {
        let journal = try fixture.open()
        for number in calls { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
    }

    /// Returns forged lines from the number on, which continue the line before.
    private static func forged(from number: UInt64, after previous: [UInt8], count: UInt64) throws -> [UInt8] {
        var (previous, bytes) = (previous, [UInt8]())
        for number in number..<(number + count) {
            let time = "2026-11-21T07:00:\(10 + number % 50).000000Z"
            let line = #"{"seq":1,"at":"\#(time)","kind":"intent","user":"mallory","prev":"","hash":""}"#
            let forged = try ForgedLine.hashed(Array(line.utf8), number: "\(number)", previous: previous)
            previous = ForgedLine.hash(of: forged)
            bytes += forged + [0x0A]
        }
        return bytes
    }

    private static func sparse(_ fixture: JournalFixture, _ name: String, _ size: Int64) throws {
        if !FileManager.default.fileExists(atPath: fixture.directory(name)) {
            try fixture.directory.write([], to: name)
        }
        try #require(truncate(fixture.directory(name), off_t(size)) == 0)
        chmod(fixture.directory(name), 0o600)
    }

    @Test(
        "A file that is named like a segment and is not one is a finding",
        arguments: [
            "journal-00000000000000000000.jsonl", "journal-09223372036854775808.jsonl", "journal-9.jsonl",
            "journal-+0000000000000000001.jsonl", "journal-00000000000000000001.jsonl.bak",
        ])
    func foreignNames(name: String) async throws {
        let fixture = Fixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        #expect(try fixture.verified().isGood)
        try fixture.directory.write(
            Self.forged(from: 1, after: JournalChain.beginning.previous, count: 3), to: name)
        let finding = try #require(try fixture.verified().finding)
        #expect(finding.number == 0)
        #expect(finding.what.contains(name))
        var shown = 0
        try AuditTrail(directory: fixture.directory.path).lines(AuditQuery()) { line in
            if line.firstRange(of: Array("mallory".utf8)) != nil { shown += 1 }
        }
        #expect(shown == 0)
    }

    @Test(
        "Lines behind the end of a segment with a failed write are not shown; with an earlier number they are a finding"
    )
    func behindAFailedWrite() async throws {
        let fixture = Fixture(isSigned: true)
        let journal = try fixture.open()
        for call in 0..<5 { try await journal.record([Fixture.intent(call)]) }
        fixture.files.fail([1], leaving: .nothing)
        _ = try? await journal.record([Fixture.intent(6)])
        await fixture.untilWell(journal)
        await journal.close()
        #expect(try fixture.verified().isGood)
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let genuine = try fixture.directory.bytes(name)
        let lines = genuine.split(separator: 0x0A)
        for number in [1, UInt64(lines.count), UInt64(lines.count) + 1] {
            let forged = try Self.forged(from: number, after: ForgedLine.hash(of: Array(lines.last ?? [])), count: 1)
            try fixture.directory.write(lines.flatMap { $0 + [0x0A] } + forged, to: name)
            for indexed in [false, true] {
                let trail = AuditTrail(directory: fixture.directory.path)
                if indexed { #expect(trail.update() == nil) }
                var shown = 0
                try trail.lines(AuditQuery()) { if $0.firstRange(of: Array("mallory".utf8)) != nil { shown += 1 } }
                #expect(shown == 0, "line \(number)")
                trail.close()
            }
            #expect(try fixture.verified().isGood == (number > lines.count), "line \(number)")
        }
    }

    @Test(
        "The journal does not go on after lines that nobody has signed, beyond a gap",
        arguments: [2, 1 << 40, (1 << 63) - 10] as [UInt64])
    func gaps(distance: UInt64) async throws {
        let fixture = Fixture(isSigned: true)
        try await Self.filled(fixture, calls: 0..<5)
        let next = UInt64(try fixture.lines().count) + 1
        let first = distance < 100 ? next + distance : distance
        let name = JournalSegmentName(first: first).text
        try fixture.directory.write(
            Self.forged(from: first, after: JournalChain.beginning.previous, count: 4), to: name)
        chmod(fixture.directory(name), 0o600)
        let error = #expect(throws: JournalUnavailable.self) { try fixture.open() }
        #expect(error?.detail.contains("does not continue") == true)
        try FileManager.default.removeItem(atPath: fixture.directory(name))
        // Within a segment too.
        let last = try #require(try JournalReading.segments(in: fixture.directory).last)
        let genuine = try fixture.directory.bytes(last)
        let previous = ForgedLine.hash(of: Array(genuine.split(separator: 0x0A).last ?? []))
        try fixture.directory.write(genuine + Self.forged(from: first, after: previous, count: 2), to: last)
        let other = #expect(throws: JournalUnavailable.self) { try fixture.open() }
        #expect(other?.detail.contains("ends with line") == true)
        try fixture.directory.write(genuine, to: last)
        await (try fixture.open()).close()
        #expect(try fixture.verified().isGood)
    }

    @Test("A file of any length takes no memory: it is a finding, is not indexed, and does not let the journal start")
    func sparseFiles() async throws {
        let fixture = Fixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        for name in [names[1], try #require(names.last)] {
            let copy = try fixture.afterCrash()
            try Self.sparse(copy, name, 21 << 30)
            #expect(try copy.verified().finding?.what.contains("more than any that is written") == true)
            let trail = AuditTrail(directory: copy.directory.path)
            #expect((trail.update() == nil) == (name == names.last))
            var count = 0
            try trail.lines(AuditQuery()) { _ in count += 1 }
            #expect(count == (try fixture.lines().count))
            trail.close()
            var tail = JournalTail(directory: copy.directory.path)
            #expect(try tail.last(3).count <= 3)
            if name == names.last { #expect(throws: JournalUnavailable.self) { try copy.open() } }
        }
    }

    @Test("Files that the gateway did not write, or that have grown, remove no segment, and the log names them")
    func retention() async throws {
        for (isRunning, plant) in [true, false].flatMap({ running in (0..<5).map { (running, $0) } }) {
            var fixture = Fixture(segmentBytes: 2000, isSigned: true)
            fixture.configuration.keepBytes = 1 << 30
            try await Self.filled(fixture)
            let names = try JournalReading.segments(in: fixture.directory)
            func change() throws {
                switch plant {
                case 0: try Self.sparse(fixture, "journal-00000000000000000000.jsonl", 21 << 30)
                case 1: try Self.sparse(fixture, names[2], 21 << 30)
                case 2: try Self.sparse(fixture, JournalSegmentName(first: 2).text, 21 << 30)
                case 3: try Self.sparse(fixture, JournalSegmentName(first: 1 << 60).text, 21 << 30)
                default:
                    // It begins as if it continued the genuine line before it.
                    let second = try #require(JournalSegmentName(names[1])?.first)
                    let lines = try fixture.lines()
                    let previous = try #require(lines[Int(second)].members["prev"] as? String)
                    let name = JournalSegmentName(first: second + 1).text
                    try fixture.directory.write(
                        Self.forged(from: second + 1, after: Array(previous.utf8), count: 1), to: name)
                    try Self.sparse(fixture, name, 21 << 30)
                }
            }
            if !isRunning { try change() }
            // A foreign last segment does not let the journal start.
            guard let journal = try? fixture.open() else {
                #expect(plant == 3 && !isRunning)
                continue
            }
            if isRunning { try change() }
            for number in 100..<104 {
                fixture.hands.pass(seconds: 3700)
                try await journal.record([Fixture.intent(number), Fixture.outcome(number)])
                #expect(await journal.check() == nil)
            }
            await journal.close()
            let left = Set(try fixture.directory.names())
            #expect(left.isSuperset(of: names), "\(plant), running: \(isRunning)")
            #expect(
                fixture.log.lines(.error).contains { $0.contains("did not write") }, "\(plant), running: \(isRunning)")
            #expect(try !fixture.verified().isGood)
        }
    }

    @Test("What others appended to a segment does not count towards the size of the journal")
    func appended() async throws {
        var fixture = Fixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let total = try names.reduce(0) { $0 + (try fixture.directory.bytes($1).count) }
        fixture.configuration.keepBytes = total + 20_000
        try fixture.directory.write(
            fixture.directory.bytes(names[1]) + [UInt8](repeating: 0x0A, count: 100_000), to: names[1])
        await (try fixture.open()).close()
        #expect(Set(try fixture.directory.names()).isSuperset(of: names))
    }

    /// Replaces the last line of the first segment with one from long ago, and lets the second segment continue it.
    private static func backdate(_ fixture: JournalFixture, _ names: [String]) throws {
        let first = try fixture.directory.bytes(names[0])
        var second = try fixture.directory.bytes(names[1])
        var lines = first.split(separator: 0x0A).map(Array.init)
        let genuine = ForgedLine.hash(of: lines[lines.count - 1])
        let last = String(decoding: try #require(lines.last), as: UTF8.self)
        let time = try #require(last.firstRange(of: /"at":"[^"]+"/))
        let old = Array(last.replacingCharacters(in: time, with: #""at":"2000-01-01T00:00:00.000000Z""#).utf8)
        let previous = ForgedLine.hash(of: lines[lines.count - 2])
        lines[lines.count - 1] = try ForgedLine.hashed(old, number: "\(lines.count)", previous: previous)
        try fixture.directory.write(Array(lines.map { $0 + [0x0A] }.joined()), to: names[0])
        let place = try #require(second.firstRange(of: genuine))
        second.replaceSubrange(place, with: ForgedLine.hash(of: lines[lines.count - 1]))
        try fixture.directory.write(second, to: names[1])
    }

    @Test("Lines that nobody signed do not make a segment old", arguments: [false, true])
    func forgedAge(isAppended: Bool) async throws {
        var fixture = Fixture(segmentBytes: 2000, isSigned: true)
        fixture.configuration.keep = .seconds(90 * 86_400)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        if isAppended {
            let bytes = try fixture.directory.bytes(names[0])
            let lines = bytes.split(separator: 0x0A).map(Array.init)
            let line =
                #"{"seq":1,"at":"2000-01-01T00:00:00.000000Z","kind":"intent","user":"mallory","prev":"","hash":""}"#
            let old = try ForgedLine.hashed(
                Array(line.utf8), number: "\(lines.count - 1)", previous: ForgedLine.hash(of: lines[0]))
            try fixture.directory.write(bytes + old + [0x0A], to: names[0])
        } else {
            try Self.backdate(fixture, names)
        }
        let time = fixture.hands.time
        fixture.files.state.withLock { $0.modified = time }
        let journal = try fixture.open()
        for number in 100..<104 {
            fixture.hands.pass(seconds: 3700)
            try await journal.record([Fixture.intent(number), Fixture.outcome(number)])
        }
        await journal.close()
        #expect(Set(try fixture.directory.names()).isSuperset(of: names))
    }

    @Test("A line behind the last one of a running journal is removed within a check, and the log says so")
    func behindTheEnd() async throws {
        var fixture = Fixture(isSigned: true)
        fixture.configuration.watchInterval = .milliseconds(5)
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1), Fixture.outcome(1)])
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let bytes = try fixture.directory.bytes(name)
        let lines = bytes.split(separator: 0x0A).map(Array.init)
        let end = lines.reduce(0) { $0 + $1.count + 1 }
        #expect(end < bytes.count)
        let last = try #require(lines.last)
        let forged = try Self.forged(
            from: UInt64(lines.count + 1), after: ForgedLine.hash(of: last), count: 2)
        // Into the preallocated space.
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.directory(name)))
        try handle.seek(toOffset: UInt64(end))
        try handle.write(contentsOf: forged)
        try handle.close()
        await fixture.log.waitFor("did not write; they were removed")
        #expect(try fixture.directory.bytes(name).count == end)
        try await journal.record([Fixture.intent(2), Fixture.outcome(2)])
        await journal.close()
        #expect(try fixture.verified().isGood)
    }

    @Test("Copies of lines and holes do not count towards the size of the journal")
    func holes() async throws {
        var fixture = Fixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let first = try #require(JournalSegmentName(names[2])?.first)
        let lines = try fixture.directory.bytes(names[2]).split(separator: 0x0A).map(Array.init)
        for (index, line) in lines.enumerated() {
            let hole = [UInt8](repeating: 0, count: 200_000)
            try fixture.directory.write(
                line + [0x0A] + hole + [0x0A] + line + [0x0A],
                to: JournalSegmentName(first: first + UInt64(index)).text)
            chmod(fixture.directory(JournalSegmentName(first: first + UInt64(index)).text), 0o600)
        }
        #expect(lines.count > 3)
        fixture.configuration.keepBytes = 400_000
        await (try fixture.open()).close()
        #expect(Set(try fixture.directory.names()).isSuperset(of: names))
    }

    @Test("A signed removal of other lines than the first one continues is a finding", arguments: [true, false])
    func otherLinesRemoved(isOther: Bool) async throws {
        let fixture = Fixture(segmentBytes: 2000, isSigned: true)
        try await Self.filled(fixture)
        let names = try JournalReading.segments(in: fixture.directory)
        let removed = try fixture.directory.bytes(names[0]).split(separator: 0x0A).map(Array.init)
        let statement = JournalStatement(
            kind: .retired, through: UInt64(removed.count),
            head: isOther ? Array(repeating: 0x30, count: 64) : ForgedLine.hash(of: removed[removed.count - 1]),
            time: "2026-11-21T08:00:00.000000Z")
        let signed = try #require(Fixture.key.sign(statement))
        let bytes = try fixture.directory.bytes(names[names.count - 1])
        let last = try #require(bytes.split(separator: 0x0A).map(Array.init).last)
        let number = try #require(JournalLineReader(bytes: last[...]).sequence) + 1
        let members = #""through":\#(statement.through),"head":"\#(String(decoding: statement.head, as: UTF8.self))""#
        let line = try ForgedLine.hashed(
            Array(
                (#"{"seq":1,"at":"\#(statement.time)","kind":"retired",\#(members),"key":"\#(signed.keyID)","#
                    + #""signature":"\#(Data(signed.signature).base64EncodedString())","prev":"","hash":""}"#).utf8),
            number: "\(number)", previous: ForgedLine.hash(of: last))
        try fixture.directory.write(
            Array(bytes.split(separator: 0x0A).map { $0 + [0x0A] }.joined()) + line + [0x0A],
            to: names[names.count - 1])
        try FileManager.default.removeItem(atPath: fixture.directory(names[0]))
        let finding = try fixture.verified().finding
        #expect((finding != nil) == isOther, "\(String(describing: finding))")
        if isOther { #expect(finding?.what.contains("signs the removal of other lines") == true) }
    }
}
