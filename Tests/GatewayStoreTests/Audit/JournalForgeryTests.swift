import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

/// Journals changed by an attacker with write access to the disk but without the signing key.
@Suite("Audit: forged journals", .timeLimit(.minutes(20)))
struct JournalForgeryTests {
    /// 2,600 lines in one segment, with checkpoints in lines 1001 and 2002 and at the end.
    private static func genuine() async throws -> (JournalFixture, name: String, lines: [[UInt8]]) {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        for batch in 0..<13 { try await journal.record((0..<200).map { Fixture.intent(batch * 200 + $0) }) }
        await journal.close()
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let lines = try fixture.directory.bytes(name).split(separator: 0x0A).map(Array.init)
        #expect(try fixture.verified().finding == nil)
        return (fixture, name, lines)
    }

    private static let count = TestRun.count(full: 1000, otherwise: 25)

    /// Verifies the lines without writing them to a disk.
    private static func finding(
        _ lines: [[UInt8]], copies: CheckpointCopies = CheckpointCopies()
    ) -> JournalVerification.Finding? {
        finding(bytes: Array(lines.joined(separator: [0x0A])) + [0x0A], copies: copies)
    }

    private static func finding(
        bytes: [UInt8], copies: CheckpointCopies = CheckpointCopies()
    ) -> JournalVerification.Finding? {
        var check = ChainCheck(keys: [Fixture.key.publicKey], copies: copies)
        check.checkSegment(bytes, of: JournalSegmentName(first: 1), before: nil, mayEndWithinLine: false)
        return check.finish().finding
    }

    private static func hashed(_ line: [UInt8], number: Int, previous: [UInt8]) throws -> [UInt8] {
        try ForgedLine.hashed(line, number: "\(number)", previous: previous)
    }

    private static func hash(of line: [UInt8]) -> [UInt8] { ForgedLine.hash(of: line) }

    private static func altered(_ line: [UInt8]) -> [UInt8] { ForgedLine.altered(line) }

    /// The numbers of the intents, which an attacker would change.
    private static func victim(_ lines: [[UInt8]], _ random: inout SplitMix, upTo limit: Int? = nil) -> Int {
        while true {
            let index = Int.random(in: 1..<(limit ?? lines.count - 3), using: &random)
            if lines[index].firstRange(of: Array("\"intent\"".utf8)) != nil { return index }
        }
    }

    @Test("A flipped bit is found at its line")
    func bitFlips() async throws {
        let (_, _, lines) = try await Self.genuine()
        let good = Array(lines.joined(separator: [0x0A])) + [0x0A]
        var random = SplitMix(seed: 1)
        for _ in 0..<Self.count {
            let place = Int.random(in: good.indices, using: &random)
            var bad = good
            bad[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let number = good[..<place].count { $0 == 0x0A } + 1
            #expect(Self.finding(bytes: bad)?.number == UInt64(number), "byte \(place)")
        }
    }

    @Test("A change of any byte of a line is found")
    func everyByte() async throws {
        let (_, _, lines) = try await Self.genuine()
        let short = Array(lines.prefix(4))
        let good = Array(short.joined(separator: [0x0A])) + [0x0A]
        #expect(Self.finding(bytes: good) == nil)
        let start = short[0].count + 1
        for place in start...(start + short[1].count) {
            for bit in TestRun.isFull ? Array(0..<8) : [place % 8] {
                var bad = good
                bad[place] ^= 1 << UInt8(bit)
                #expect(Self.finding(bytes: bad)?.number == 2, "byte \(place)")
            }
        }
    }

    @Test("Deleted lines are found at the first one")
    func deletions() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 2)
        for _ in 0..<Self.count {
            let index = Int.random(in: 0..<(lines.count - 1), using: &random)
            let count = min(Int.random(in: 1...50, using: &random), lines.count - 1 - index)
            var bad = lines
            bad.removeSubrange(index..<(index + count))
            #expect(Self.finding(bad)?.number == UInt64(index + 1))
        }
    }

    @Test("Duplicated lines are found at their number")
    func duplications() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 3)
        for _ in 0..<Self.count {
            let index = Int.random(in: lines.indices, using: &random)
            var bad = lines
            bad.insert(lines[index], at: index + 1)
            #expect(Self.finding(bad)?.number == UInt64(index + 1))
        }
    }

    @Test("Swapped lines are found at the first of them, even if renumbered and rehashed")
    func swaps() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 4)
        for round in 0..<Self.count {
            let first = Self.victim(lines, &random)
            let second = Int.random(in: (first + 1)..<(lines.count - 1), using: &random)
            var bad = lines
            bad.swapAt(first, second)
            if round % 2 == 1 {
                bad[first] = try Self.hashed(bad[first], number: first + 1, previous: Self.hash(of: bad[first - 1]))
                bad[second] = try Self.hashed(
                    bad[second], number: second + 1, previous: Self.hash(of: bad[second - 1]))
            }
            // If both lines have the same content, only the number differed, and it was corrected.
            guard bad[first] != lines[first] else { continue }
            let finding = try #require(Self.finding(bad))
            switch (round % 2 == 1, Self.isCheckpoint(lines[second])) {
            case (true, false) where second == first + 1:
                // Adjacent rehashed lines form a consistent run. The chain breaks behind it, and the start of the run
                // is unknown.
                #expect(finding.number == UInt64(second + 1))
            case (true, true):
                // A checkpoint that signs another line, as after the removal and rehashing of earlier lines.
                #expect(finding.through == UInt64(first + 1))
                #expect(finding.number <= UInt64(first + 1))
            case (_, _):
                #expect(finding.number == UInt64(first + 1))
            }
        }
    }

    @Test("A moved and rehashed checkpoint is found at its new place")
    func movedCheckpoints() async throws {
        let (_, _, lines) = try await Self.genuine()
        for checkpoint in lines.indices.filter({ Self.isCheckpoint(lines[$0]) }) {
            for place in [1, 500, 999, 1999, 2500] where place < checkpoint {
                var bad = lines
                bad[place] = try Self.hashed(
                    lines[checkpoint], number: place + 1, previous: Self.hash(of: lines[place - 1]))
                let finding = try #require(Self.finding(bad))
                #expect((finding.number...finding.through).contains(UInt64(place + 1)))
                #expect(finding.through == UInt64(place + 1))
            }
        }
    }

    private static func isCheckpoint(_ line: [UInt8]) -> Bool {
        line.firstRange(of: Array("\"checkpoint\"".utf8)) != nil
    }

    @Test("An inserted line with a valid hash and number is found at its number")
    func insertions() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 5)
        for _ in 0..<Self.count {
            let index = Self.victim(lines, &random)
            var bad = lines
            bad.insert(
                try Self.hashed(
                    Self.altered(lines[index]), number: index + 1, previous: Self.hash(of: lines[index - 1])),
                at: index)
            #expect(Self.finding(bad)?.number == UInt64(index + 1))
        }
    }

    @Test("A changed and rehashed line is found at its number")
    func replacements() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 6)
        for _ in 0..<Self.count {
            let index = Self.victim(lines, &random)
            var bad = lines
            bad[index] = try Self.hashed(
                Self.altered(lines[index]), number: index + 1, previous: Self.hash(of: lines[index - 1]))
            #expect(Self.finding(bad)?.number == UInt64(index + 1))
        }
    }

    /// Rehashes the lines from `index` on as an attacker would. Checkpoints get the right numbers and hashes, and keep
    /// the old signatures or are dropped.
    private static func rechained(_ lines: [[UInt8]], from index: Int, dropping: Bool) throws -> [[UInt8]] {
        var forged = Array(lines[..<index])
        for (offset, line) in lines[index...].enumerated() {
            let isCheckpoint = isCheckpoint(line)
            if isCheckpoint, dropping { continue }
            var text = String(decoding: offset == 0 ? altered(line) : line, as: UTF8.self)
            let previous = forged.last.map(hash) ?? JournalChain.beginning.previous
            if isCheckpoint, let head = text.range(of: ",\"head\":\"") {
                let end = text.index(head.upperBound, offsetBy: 64)
                text.replaceSubrange(head.upperBound..<end, with: String(decoding: previous, as: UTF8.self))
            }
            forged.append(try hashed(Array(text.utf8), number: forged.count + 1, previous: previous))
        }
        return forged
    }

    @Test("Lines rehashed to the end are found by the next checkpoint, after the previous one")
    func rechaining() async throws {
        let (_, _, lines) = try await Self.genuine()
        var random = SplitMix(seed: 7)
        for round in 0..<Self.count {
            let index = Self.victim(lines, &random)
            let number = UInt64(index + 1)
            let forged = try Self.rechained(lines, from: index, dropping: round % 2 == 1)
            // Without checkpoints the run exceeds the limit. With less than a full run left, only the checkpoint copy
            // shows the change.
            if round % 2 == 1, number > 2002 { continue }
            let finding = try #require(Self.finding(forged))
            let before = [1, 1001, 2002].last { UInt64($0) < number } ?? 1
            if round % 2 == 0 {
                #expect(finding.number == UInt64(before))
                #expect(finding.through == [1001, 2002, UInt64(lines.count)].first { $0 > number })
            } else {
                #expect(finding.number == UInt64(before))
            }
        }
    }

    @Test("Lines rehashed or cut off after the last checkpoint: only the checkpoint copy shows it")
    func tail() async throws {
        let (_, _, lines) = try await Self.genuine()
        let copied = lines.filter(Self.isCheckpoint)
        let copies = CheckpointCopies(Array(copied.joined(separator: [0x0A])), keys: [Fixture.key.publicKey])
        #expect(copies.count == 3)
        let index = 2300
        let forged = try Self.rechained(lines, from: index, dropping: true)
        #expect(Self.finding(forged) == nil)
        let finding = try #require(Self.finding(forged, copies: copies))
        #expect((finding.number...finding.through).contains(UInt64(index + 1)) || finding.what.contains("at the end"))
        #expect(Self.finding(Array(lines[..<index])) == nil)
        #expect(Self.finding(Array(lines[..<index]), copies: copies)?.number == UInt64(index + 1))
    }

    @Test("Lines after a segment's end are a finding, unless a failed write explains them")
    func behindTheEnd() async throws {
        let fixture = JournalFixture(segmentBytes: 2000, isSigned: true)
        let journal = try fixture.open()
        for number in 0..<20 { try await journal.record([Fixture.intent(number)]) }
        await journal.close()
        let names = try JournalReading.segments(in: fixture.directory)
        let bytes = try fixture.directory.bytes(names[0])
        try fixture.directory.write(bytes + Array("something else\n".utf8), to: names[0])
        let next = UInt64(names[1].dropFirst(8).dropLast(6)) ?? 0
        #expect(try fixture.verified().finding?.number == next)
        try fixture.directory.write(bytes.dropLast(), to: names[0])
        #expect(try fixture.verified().finding?.number == next - 1)
        try fixture.directory.write(Array("{\"seq\":".utf8), to: names[0])
        #expect(try fixture.verified().finding?.number == 1)
    }

    @Test("Arbitrary bytes are read without a crash")
    func noise() {
        var random = SplitMix(seed: 8)
        for _ in 0..<Self.count * 4 {
            let noise = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                Bool.random(using: &random)
                    ? UInt8.random(in: .min ... .max, using: &random)
                    : Array(#"{"seq":1,"at":"","prev":"","hash":"}"#.utf8).randomElement(using: &random) ?? 0
            }
            if noise.isEmpty { continue }
            #expect(Self.finding(bytes: noise) != nil)
            #expect(CheckpointCopies(noise, keys: [Fixture.key.publicKey]).count == 0)
        }
    }
}
