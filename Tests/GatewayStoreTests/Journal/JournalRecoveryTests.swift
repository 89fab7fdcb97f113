import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Journal: after a restart", .timeLimit(.minutes(5)))
struct JournalRecoveryTests {
    @Test("The chain continues over clean restarts")
    func restarts() async throws {
        let fixture = JournalFixture()
        for number in 0..<4 {
            let journal = try fixture.open()
            try await journal.record([Fixture.intent(number), Fixture.outcome(number)])
            await journal.close()
        }
        let lines = try fixture.lines()
        #expect(lines.map(\.kind) == Array(repeating: ["start", "intent", "outcome", "stop"], count: 4).flatMap { $0 })
    }

    @Test("A segment truncated at any byte keeps its complete lines, saves the rest, and completes open intents")
    func tornAnywhere() async throws {
        let origin = JournalFixture()
        let journal = try origin.open()
        try await journal.record([Fixture.intent(1)])
        try await journal.record([Fixture.outcome(1), Fixture.intent(2)])
        let crashed = try origin.afterCrash()
        await journal.close()
        let name = "journal-00000000000000000001.jsonl"
        let filled = try crashed.directory.bytes(name)
        let whole = Array(filled[..<JournalContent.endOfLines(in: filled)])
        let all = try crashed.lines()
        for length in 0...whole.count {
            let fixture = JournalFixture()
            try PrivateFiles.makeDirectory(fixture.directory.path)
            // With and without preallocated line feeds after the cut.
            let filling = [UInt8](repeating: 0x0A, count: length % 2 == 0 ? 0 : whole.count - length + 5000)
            try fixture.directory.write(Array(whole[..<length]) + filling, to: name)
            await (try fixture.open()).close()
            // A line that lacks only its line feed is completed by a preallocated one.
            let kept = !filling.isEmpty && length < whole.count && whole[length] == 0x0A ? length + 1 : length
            let complete = whole[..<kept].count { $0 == 0x0A }
            let torn = kept - (whole[..<kept].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0)
            let lines = try fixture.lines()
            #expect(lines.prefix(complete).map(\.text) == all.prefix(complete).map(\.text))
            let rest = lines.dropFirst(complete)
            #expect(rest.first?.result == (torn > 0 ? "torn-tail" : rest.first?.result))
            #expect(rest.count { $0.kind == "recovered" } == (torn > 0 ? 1 : 0))
            #expect(rest.suffix(2).map(\.kind) == ["start", "stop"])
            Self.expectOneOutcomeEach(lines)
            let aside = try fixture.directory.names().filter { $0.hasPrefix("torn-") }
            #expect(aside.count == (torn > 0 ? 1 : 0))
            if let aside = aside.first {
                #expect(try fixture.directory.bytes(aside) == Array(whole[(length - torn)..<length]))
                #expect(try fixture.directory.mode(aside) == 0o600)
            }
        }
    }

    /// Split into parallel parts. Each has its own segment, truncated at every n-th byte.
    @Test("A segment of 200 records truncated at every byte continues after its last complete line", arguments: 0..<16)
    func tornInManyRecords(part: Int) async throws {
        let origin = JournalFixture(isSigned: true)
        let journal = try origin.open()
        for number in 0..<100 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
        let name = "journal-00000000000000000001.jsonl"
        let whole = try origin.directory.bytes(name)
        var chains = [(end: 0, chain: JournalChain.beginning)]
        for line in whole.split(separator: 0x0A) {
            let hash = try #require(JournalLineReader(bytes: line).verifiedHash)
            chains.append((line.endIndex + 1, JournalChain(next: UInt64(chains.count) + 1, hash: hash)))
        }
        #expect(chains.count > 200)
        let place = TemporaryDirectory()
        try PrivateFiles.makeDirectory(place.path)
        let step = TestRun.count(full: 1, otherwise: 211)
        for length in stride(from: part * step, through: whole.count, by: 16 * step) {
            for old in try place.names() { try FileManager.default.removeItem(atPath: place(old)) }
            let filling = [UInt8](repeating: 0x0A, count: length % 2 == 0 ? 0 : 5000)
            try place.write(Array(whole[..<length]) + filling, to: name)
            let found = try JournalRecovery(directory: place.path, files: SystemFileSystem()).run()
            let kept = !filling.isEmpty && length < whole.count && whole[length] == 0x0A ? length + 1 : length
            let expected = try #require(chains.last { $0.end <= kept })
            #expect(found.chain == expected.chain, "cut at \(length)")
            if expected.end > 0 { #expect(try place.bytes(name) == Array(whole[..<expected.end])) }
            let aside = try place.names().filter { $0.hasPrefix("torn-") }
            #expect(
                try aside.map { try place.bytes($0) }
                    == (kept > expected.end ? [Array(whole[expected.end..<kept])] : []))
        }
    }

    private static func expectOneOutcomeEach(_ lines: [ReadLine]) {
        var open: [String: Int] = [:]
        for line in lines where line.kind == "intent" || line.kind == "outcome" {
            open["\(line.call ?? "") \(line.recipient ?? "")", default: 0] += line.kind == "intent" ? 1 : -1
        }
        #expect(open.values.allSatisfy { $0 == 0 }, "\(open)")
    }

    @Test("Open intents get their outcomes after a crash, for each recipient, over segments, and only once")
    func unknownAfterCrash() async throws {
        let fixture = JournalFixture(segmentBytes: 1500)
        let journal = try fixture.open()
        for number in 0..<20 {
            try await journal.record(["ann", "ben", "cai"].map { Fixture.intent(number, to: $0) })
            journal.append(Fixture.outcome(number, to: "cai"))
            if number != 4 { journal.append(Fixture.outcome(number, to: "ann")) }
            if number != 17 { journal.append(Fixture.outcome(number, to: "ben")) }
        }
        try await journal.record([])
        let crashed = try fixture.afterCrash()
        await journal.close()
        for _ in 0..<2 { await (try crashed.open()).close() }
        let lines = try crashed.lines()
        Self.expectOneOutcomeEach(lines)
        let completed = lines.filter { $0.result == "unknown-after-crash" }
        #expect(completed.map(\.call) == [Fixture.call(4), Fixture.call(17)])
        #expect(completed.map(\.recipient) == ["ann", "ben"])
        #expect(completed.allSatisfy { $0.members["user"] as? String == "alice" && $0.kind == "outcome" })
    }

    @Test("A crash during recovery loses no outcome")
    func crashDuringRecovery() async throws {
        let origin = JournalFixture()
        let journal = try origin.open()
        try await journal.record((0..<3).map { Fixture.intent($0) })
        let crashed = try origin.afterCrash()
        await journal.close()
        await (try crashed.open()).close()
        let second = "journal-00000000000000000005.jsonl"
        let whole = Array(try crashed.directory.bytes(second))
        for length in stride(from: 0, through: whole.count, by: 37) {
            let fixture = JournalFixture()
            try PrivateFiles.makeDirectory(fixture.directory.path)
            let first = "journal-00000000000000000001.jsonl"
            try fixture.directory.write(crashed.directory.bytes(first), to: first)
            try fixture.directory.write(Array(whole[..<length]), to: second)
            await (try fixture.open()).close()
            Self.expectOneOutcomeEach(try fixture.lines())
        }
    }

    @Test("A crash soon after a failed write: void lines of the sealed segment do not count")
    func crashAfterFailure() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record([Fixture.intent(1)])
        fixture.files.fail([1], leaving: .all)
        await #expect(throws: JournalUnavailable.self) { try await journal.record([Fixture.intent(2)]) }
        await fixture.untilWell(journal)
        let crashed = try fixture.afterCrash()
        await journal.close()
        await (try crashed.open()).close()
        let lines = try crashed.lines()
        #expect(lines.filter { $0.kind == "intent" }.map(\.call) == [Fixture.call(1)])
        #expect(lines.filter { $0.result == "unknown-after-crash" }.map(\.call) == [Fixture.call(1)])
    }

    @Test("Zeros and garbage after the last valid line are removed as an incomplete end")
    func rubbish() async throws {
        for rubbish in [[UInt8](repeating: 0, count: 5000), Array("{}\n{\"seq\":3}\n\n".utf8), [0xFF, 0x0A]] {
            let fixture = JournalFixture()
            await (try fixture.open()).close()
            let name = "journal-00000000000000000001.jsonl"
            try fixture.directory.write(fixture.directory.bytes(name) + rubbish, to: name)
            await (try fixture.open()).close()
            let lines = try fixture.lines()
            #expect(lines.map(\.kind) == ["start", "stop", "recovered", "start", "stop"])
            // The line feeds at the end may be preallocated ones.
            #expect(lines[2].members["count"] as? Int == JournalContent.endOffset(of: rubbish))
        }
    }

    @Test("Preallocated line feeds are not an incomplete end, and are removed")
    func filling() async throws {
        for count in [1, 4096, 300_001] {
            let fixture = JournalFixture()
            await (try fixture.open()).close()
            let name = "journal-00000000000000000001.jsonl"
            let good = try fixture.directory.bytes(name)
            try fixture.directory.write(good + [UInt8](repeating: 0x0A, count: count), to: name)
            #expect(try fixture.verified(keys: []).finding == nil)
            await (try fixture.open()).close()
            #expect(try fixture.directory.bytes(name) == good)
            #expect(try fixture.lines().map(\.kind) == ["start", "stop", "start", "stop"])
        }
        let fixture = JournalFixture()
        await (try fixture.open()).close()
        // A segment created and preallocated before a power failure.
        try fixture.directory.write([UInt8](repeating: 0x0A, count: 65_536), to: "journal-00000000000000000003.jsonl")
        #expect(try fixture.verified(keys: []).finding == nil)
        await (try fixture.open()).close()
        #expect(try fixture.lines().map(\.kind) == ["start", "stop", "start", "stop"])
    }

    @Test("Of a batch with holes after a power failure, only the lines before the first hole count")
    func holes() async throws {
        let origin = JournalFixture(isSigned: true)
        let journal = try origin.open()
        for number in 0..<3 {
            origin.hands.pass(seconds: 1)
            try await journal.record([Fixture.intent(number)])
        }
        origin.hands.pass(seconds: 1)
        try await journal.record((10..<60).map { Fixture.intent($0) })
        let crashed = try origin.afterCrash()
        await journal.close()
        let name = "journal-00000000000000000001.jsonl"
        let whole = try crashed.directory.bytes(name)
        let ends = whole[..<JournalContent.endOfLines(in: whole)].indices.filter { whole[$0] == 0x0A }
        let all = try crashed.lines().map(\.text)
        // Lines 1 to 4 belong to earlier batches.
        let batch = (ends[3] + 1)..<(ends[53] + 1)
        for start in stride(from: batch.lowerBound, to: batch.upperBound - 1, by: 97) {
            for length in [1, 512, 4096] {
                var bytes = whole
                for place in start..<min(start + length, batch.upperBound) { bytes[place] = 0x0A }
                guard bytes != whole else { continue }
                let fixture = JournalFixture(isSigned: true)
                try PrivateFiles.makeDirectory(fixture.directory.path)
                try fixture.directory.write(bytes, to: name)
                let found = try JournalRecovery(directory: fixture.directory.path, files: SystemFileSystem()).run()
                let good = zip(whole, bytes).prefix { $0 == $1 }.count
                let complete = ends.count { $0 < good }
                #expect(found.chain.next == UInt64(complete + 1), "\(length) bytes from \(start)")
                await (try fixture.open()).close()
                #expect(try fixture.lines().prefix(complete).map(\.text) == Array(all.prefix(complete)))
                #expect(try fixture.verified().finding == nil)
            }
        }
    }

    @Test("Damage that a crash does not explain is not repaired")
    func damage() async throws {
        let fixture = JournalFixture()
        try PrivateFiles.makeDirectory(fixture.directory.path)
        let rubbish = [UInt8](repeating: UInt8(ascii: "x"), count: JournalRecovery.maximumTornBytes + 1)
        try fixture.directory.write(rubbish, to: "journal-00000000000000000001.jsonl")
        let error = #expect(throws: JournalUnavailable.self) { try fixture.open() }
        #expect(error?.detail.contains("damaged") == true)
        #expect(try fixture.directory.bytes("journal-00000000000000000001.jsonl").count == rubbish.count)
    }

    @Test("Other files in the directory are not touched")
    func strangers() async throws {
        let fixture = JournalFixture()
        try PrivateFiles.makeDirectory(fixture.directory.path)
        let names = [
            "journal-1.jsonl", "journal-0000000000000000000x.jsonl", "notes.txt", "journal-00000000000000000001.gz",
        ]
        for name in names { try fixture.directory.write(Array("mine".utf8), to: name) }
        await (try fixture.open()).close()
        for name in names { #expect(try fixture.directory.bytes(name) == Array("mine".utf8)) }
    }
}
