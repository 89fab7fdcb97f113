import Foundation
import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

@Suite("Sends with an idempotency key, read from the journal", .timeLimit(.minutes(5)))
struct IdempotentSendReaderTests {
    private static let alice = UserName(canonical: "alice")!  // A valid name.

    private func facts(
        _ number: UInt64, key: UInt8?, to recipient: String = "bob", audience: String? = nil
    ) -> CallFacts {
        var facts = CallFacts(call: CallID(process: 1, number: number), peer: .gateway)
        facts.action = .send
        facts.user = Self.alice
        facts.recipient = UserName(canonical: recipient)
        facts.audience = audience
        facts.pns = .fcm
        facts.digest = KeyedDigest([UInt8](repeating: 5, count: 16))
        facts.idempotencyKey = key.flatMap { KeyedDigest([UInt8](repeating: $0, count: 16)) }
        return facts
    }

    @Test("Intents and outcomes of one call form one send; calls without a key, replays and older ones form none")
    func sends() async throws {
        let fixture = JournalFixture()
        var journal = try fixture.open()
        try await journal.record([JournalRecord(.intent, facts: facts(1, key: 0xAB))])
        journal.append(JournalRecord(.outcome, facts: facts(1, key: 0xAB), result: "accepted"))
        try await journal.record([JournalRecord(.intent, facts: facts(2, key: nil))])
        journal.append(JournalRecord(.outcome, facts: facts(2, key: nil), result: "accepted"))
        journal.append(JournalRecord(.replay, facts: facts(3, key: 0xAB), result: "accepted"))
        let team = ["bob", "carol"].map { facts(4, key: 0xCD, to: $0, audience: "team") }
        try await journal.record(team.map { JournalRecord(.intent, facts: $0) })
        journal.append(
            JournalRecord(.rejection, facts: facts(4, key: 0xCD, to: "eve", audience: "team"), result: "rate-limited"))
        journal.append(JournalRecord(.outcome, facts: team[0], result: "backend-failed"))
        await journal.close()
        // The next start writes the missing outcome.
        journal = try fixture.open()
        try await journal.record([JournalRecord(.intent, facts: facts(5, key: 0xEF))])
        await journal.close()

        let directory = fixture.directory.path
        let sends = try Self.sends(in: directory, since: WallTime(seconds: 0))
        #expect(sends.count == 3)
        #expect(sends.map(\.key.bytes.first) == [0xAB, 0xCD, 0xEF])
        #expect(sends.map(\.target) == ["bob", "audience:team", "bob"])
        #expect(sends.map(\.intents) == [1, 2, 1])
        #expect(sends[0].results == [.accepted])
        #expect(Set(sends[1].results) == [.backendFailed, .unknownAfterCrash])
        #expect(sends[1].skipped == 1)
        #expect(sends[0].user == Self.alice && sends[0].service == .fcm)
        #expect(sends[0].message.bytes == [UInt8](repeating: 5, count: 16))
        #expect(try Self.sends(in: directory, since: sends[0].at).isEmpty)
    }

    /// Returns all sends that a start finds.
    static func sends(
        in directory: String, since: WallTime, indexed: (any IndexedSegments)? = nil
    ) throws -> [IdempotentSend] {
        var sends: [IdempotentSend] = []
        try JournalFile.readKeyedSends(in: directory, since: since, indexed: indexed) { sends.append($0) }
        return sends
    }

    @Test("A clock that is set back makes no send older than those before it")
    func clockSetBack() {
        func line(_ call: Int, at time: WallTime, of user: String = "alice") -> JournalLineReader {
            let hex = String(repeating: "0", count: 30) + String(10 + call)
            return JournalLineReader(
                bytes: Array(
                    (#"{"seq":\#(call),"at":"\#(time)","kind":"intent","call":"\#(call)","user":"\#(user)","recipient":"bob","#
                        + #""pns":"fcm","idempotency":"\#(hex)","digest":"\#(hex)"}"#).utf8)[...])
        }
        let start = WallTime(seconds: 1_795_000_000)
        func times(_ seconds: [Int64], now: WallTime = WallTime(microseconds: .max)) -> [Int64] {
            var reader = IdempotentSendReader(since: start.adding(-1), now: now)
            for (call, seconds) in seconds.enumerated() {
                reader.add(line(call, at: start.adding(seconds * 1_000_000))) { _ in Issue.record("no outcome") }
            }
            return reader.incomplete.map { $0.at.seconds - start.seconds }
        }
        #expect(times([0, 10, -90_000, -80_000, 20]) == [0, 10, 10, 10, 20])
        // A line from a clock that was ahead makes no later one newer.
        #expect(times([0, 30_000_000, 10], now: start.adding(100_000_000)) == [0, 30_000_000, 10])
    }

    @Test("Sends are passed on with their last outcome, and the others at the end, wherever a part of a segment ends")
    func parts() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        // Some 3 MiB, of which a part is 1 MiB.
        let count: UInt64 = 6000
        for first in stride(from: 1, through: count, by: 500) {
            let all = (first..<first + 500).map { facts($0, key: UInt8(truncatingIfNeeded: $0)) }
            try await journal.record(all.map { JournalRecord(.intent, facts: $0) })
            for facts in all where facts.call.number % 1000 != 0 {
                journal.append(JournalRecord(.outcome, facts: facts, result: "accepted"))
            }
        }
        await journal.close()
        let size = try JournalReading.segments(in: fixture.directory).reduce(0) {
            try $0 + fixture.directory.bytes($1).count
        }
        #expect(size > 2 << 20)
        let sends = try Self.sends(in: fixture.directory.path, since: WallTime(seconds: 0))
        #expect(sends.count == Int(count))
        #expect(sends.dropLast(6).allSatisfy { $0.results == [.accepted] && $0.intents == 1 })
        #expect(sends.suffix(6).allSatisfy { $0.results.isEmpty && $0.intents == 1 })
        #expect(
            sends.dropLast(6).map { $0.key.bytes[0] }
                == (1...count).filter { $0 % 1000 != 0 }.map(UInt8.init(truncatingIfNeeded:)))
        struct Enough: Error {}
        #expect(throws: Enough.self) {
            try JournalFile.readKeyedSends(in: fixture.directory.path, since: WallTime(seconds: 0)) { _ in
                throw Enough()
            }
        }
    }

    @Test("Lines that are missing between segments are reported, and lines after a failed write are not")
    func missing() async throws {
        let fixture = JournalFixture()
        for run in 0..<4 as Range<UInt64> {
            let journal = try fixture.open()
            for number in 0..<3 {
                try await journal.record([JournalRecord(.intent, facts: facts(run * 3 + UInt64(number), key: 1))])
            }
            await journal.close()
        }
        let directory = fixture.directory.path
        func missing() throws -> [ClosedRange<UInt64>] {
            try JournalFile.readKeyedSends(in: directory, since: WallTime(seconds: 0)) { _ in }
        }
        #expect(try missing().isEmpty)
        let names = try JournalReading.segments(in: fixture.directory)
        #expect(names.count == 4)
        let firsts = JournalSegmentName.segments(among: names).map(\.first)
        let (second, third) = ("\(directory)/\(names[1])", "\(directory)/\(names[2])")
        let bytes = try fixture.directory.bytes(names[1])
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        for (content, lacks) in [
            (bytes + Array("garbage\n\n\n".utf8), []), (Array(bytes.dropLast(3)), [firsts[2] - 1...firsts[2] - 1]),
            (lines[0] + [UInt8(ascii: "\n")], [firsts[1] + 1...firsts[2] - 1]), ([], [firsts[1]...firsts[2] - 1]),
            ([UInt8](repeating: 0, count: 100), [firsts[1]...firsts[2] - 1]),
        ] as [([UInt8], [ClosedRange<UInt64>])] {
            try Data(content).write(to: URL(fileURLWithPath: second))
            #expect(try missing() == lacks)
        }
        try FileManager.default.removeItem(atPath: third)
        #expect(try missing() == [firsts[1]...firsts[3] - 1])
        try FileManager.default.removeItem(atPath: second)
        #expect(try missing() == [firsts[1]...firsts[3] - 1])
    }

    @Test("A text that looks like a member is not taken for a key")
    func forged() {
        var sends = IdempotentSendReader(since: WallTime(seconds: 0))
        var facts = facts(1, key: nil)
        facts.attempted = PresentedName(#"x","idempotency":"abababababababababababababababab"#)
        let line = [UInt8](expecting: 512) { bytes in
            bytes.append(#"{"seq":1,"at":"2026-11-18T11:06:40.000000Z","kind":"intent""#)
            var line = JournalLineWriter(bytes: bytes)
            line.members(of: facts)
            bytes = line.bytes
        }
        func read(_ bytes: [UInt8]) {
            var order = LineOrder(from: 1, before: nil)
            sends.read(bytes[...], &order) { _ in Issue.record("a send") }
        }
        read(line + Array("}\n".utf8))
        for junk in ["", ",\"idempotency\":\"", "\n,\"idempotency\":\"zz\"\n", "{\"seq\":1,\"idempotency\":\"\"}"] {
            read(Array(junk.utf8))
        }
        #expect(sends.incomplete.isEmpty)
    }
}
