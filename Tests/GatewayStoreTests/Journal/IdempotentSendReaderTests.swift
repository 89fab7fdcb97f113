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
        let sends = try JournalFile.keyedSends(in: directory, since: WallTime(seconds: 0))
        #expect(sends.count == 3)
        #expect(sends.map(\.key.bytes.first) == [0xAB, 0xCD, 0xEF])
        #expect(sends.map(\.target) == ["bob", "audience:team", "bob"])
        #expect(sends.map(\.intents) == [1, 2, 1])
        #expect(sends[0].results == [.accepted])
        #expect(Set(sends[1].results) == [.backendFailed, .unknownAfterCrash])
        #expect(sends[1].skipped == 1)
        #expect(sends[0].user == Self.alice && sends[0].service == .fcm)
        #expect(sends[0].message.bytes == [UInt8](repeating: 5, count: 16))
        #expect(try JournalFile.keyedSends(in: directory, since: sends[0].at).isEmpty)
    }

    @Test("A clock that is set back makes no send older than those before it, and the newest ones are returned")
    func clockSetBack() {
        func line(_ call: Int, at time: WallTime, of user: String = "alice") -> JournalLineReader {
            let hex = String(repeating: "0", count: 30) + String(10 + call)
            return JournalLineReader(
                bytes: Array(
                    (#"{"seq":\#(call),"at":"\#(time)","kind":"intent","call":"\#(call)","user":"\#(user)","recipient":"bob","#
                        + #""pns":"fcm","idempotency":"\#(hex)","digest":"\#(hex)"}"#).utf8)[...])
        }
        let start = WallTime(seconds: 1_795_000_000)
        var reader = IdempotentSendReader(since: start.adding(-1))
        for (call, seconds) in [0, 10, -90_000, -80_000, 20].enumerated() {
            reader.add(line(call, at: start.adding(Int64(seconds) * 1_000_000)))
        }
        #expect(reader.all.map { $0.at.seconds - start.seconds } == [0, 10, 10, 10, 20])
        // A line from a clock that was ahead makes no later one newer.
        reader = IdempotentSendReader(since: start.adding(-1), now: start.adding(100_000_000))
        for (call, seconds) in [0, 30_000_000, 10].enumerated() {
            reader.add(line(call, at: start.adding(Int64(seconds) * 1_000_000)))
        }
        #expect(reader.all.map { $0.at.seconds - start.seconds } == [0, 30_000_000, 10])
        for limit in [1, 3, 10] {
            var reader = IdempotentSendReader(since: start, bounds: KeyedSendBounds(total: limit))
            for call in 1...50 { reader.add(line(call, at: start.adding(Int64(call) * 1_000_000))) }
            #expect(reader.all.map { $0.at.seconds - start.seconds } == (0..<50).suffix(limit).map { Int64($0 + 1) })
        }
        // A user with many sends displaces none of another one.
        reader = IdempotentSendReader(since: start, bounds: KeyedSendBounds(total: 10, perUser: 4))
        for call in 1...60 {
            reader.add(line(call, at: start.adding(Int64(call) * 1_000_000), of: call < 4 ? "bob" : "alice"))
        }
        #expect(reader.all.map { $0.at.seconds - start.seconds } == [1, 2, 3, 57, 58, 59, 60])
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
        sends.read(line + Array("}\n".utf8), LineOrder(from: 1, before: nil))
        #expect(sends.all.isEmpty)
        for junk in ["", ",\"idempotency\":\"", "\n,\"idempotency\":\"zz\"\n", "{\"seq\":1,\"idempotency\":\"\"}"] {
            sends.read(Array(junk.utf8), LineOrder(from: 1, before: nil))
        }
        #expect(sends.all.isEmpty)
    }
}
