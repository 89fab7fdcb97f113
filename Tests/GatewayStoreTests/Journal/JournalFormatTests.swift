import GatewayCore
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Journal: lines and segments", .timeLimit(.minutes(5)))
struct JournalFormatTests {
    @Test("Every member has its place, and absent ones are left out")
    func shape() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        var facts = CallFacts(
            call: CallID(process: 0xAB, number: 1), peer: Peer(address: .v6(0, 1), text: "2001:db8::1"))
        facts.action = .send
        facts.user = UserName(canonical: "alice")
        facts.attempted = PresentedName("EXAMPLE\\Alice")
        facts.authenticator = "static-users"
        facts.recipient = UserName(canonical: "bob")
        facts.audience = "on \"call\""
        facts.pns = .fcm
        facts.platform = .apns
        facts.registration = RegistrationID("7260-42-1")
        facts.tags = ["b", "Region:x"].compactMap(Tag.init)
        facts.rule = "send[0]"
        facts.fence = FenceName("Seattle")
        facts.limit = "sends"
        facts.wouldLimit = ["inbox", "a \"b"]
        facts.bytes = 5
        facts.digest = KeyedDigest([UInt8](repeating: 0xC5, count: 16))
        try await journal.record([
            JournalRecord(
                .outcome, facts: facts, result: "accepted", status: 200, milliseconds: 12, notification: "73622a22-18")
        ])
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.map(\.kind) == ["start", "outcome", "stop"])
        let zeros = String(repeating: "0", count: 64)
        let start =
            #"{"seq":1,"at":"2026-11-18T11:06:40.000000Z","kind":"start","format":1,"prev":"\#(zeros)","hash":""#
        #expect(lines[0].text.hasPrefix(start))
        let prev = try #require(lines[0].members["hash"] as? String)
        #expect(
            lines[1].text.hasPrefix(
                #"{"seq":2,"at":"2026-11-18T11:06:40.000000Z","kind":"outcome","#
                    + #""call":"00000000000000ab0000000000000001","action":"send","user":"alice","#
                    + #""attempted":"EXAMPLE\\Alice","authenticator":"static-users","peer":"2001:db8::1","#
                    + #""recipient":"bob","audience":"on \"call\"","pns":"fcm","platform":"apns","#
                    + #""registration":"7260-42-1","tags":["b","Region:x"],"rule":"send[0]","#
                    + #""fence":"seattle","limit":"sends","would-limit":["inbox","a \"b"],"bytes":5,"#
                    + #""digest":"c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5c5","result":"accepted","status":200,"ms":12,"#
                    + #""notification":"73622a22-18","#
                    + #""prev":"\#(prev)","hash":""#))
    }

    @Test("An unverified name is cut at 64 bytes, never inside a character")
    func cut() {
        #expect(JournalLineWriter.truncated("short", to: 64) == "short")
        #expect(JournalLineWriter.truncated(String(repeating: "a", count: 65), to: 64).utf8.count == 64)
        for padding in 60...64 {
            for scalar in ["é", "€", "🙂"] {
                let cut = JournalLineWriter.truncated(String(repeating: "a", count: padding) + scalar + "tail", to: 64)
                #expect(cut.utf8.count <= 64)
                #expect(cut.utf8.count > 60)
                #expect(!cut.unicodeScalars.contains("\u{FFFD}"))
            }
        }
        #expect(JournalLineWriter.truncated(String(repeating: "\u{301}", count: 100), to: 64).utf8.count == 64)
    }

    @Test("Numbers of any size", arguments: [0, 1, -1, 10, Int.max, Int.min])
    func numbers(number: Int) throws {
        let bytes = [UInt8](expecting: 1) { bytes in
            var line = JournalLineWriter(bytes: bytes)
            line.member(#","n":"#, number: number)
            bytes = line.bytes
        }
        #expect(String(decoding: bytes, as: UTF8.self) == ",\"n\":\(number)")
    }

    static let hostile = [
        "\n", "\r\n{\"seq\":99}", "\u{0}", "\u{1B}[2J", "\"", "\\", "\\\"", "\u{2028}\u{2029}\u{85}", "\u{7F}\u{9F}",
        "},{\"kind\":\"intent\"", "x,\"hash\":\"00\"}", "\",\"hash\":\"", ",\"prev\":\"", "🙂\u{FEFF}\u{202E}",
        "\u{FFFF}", "<script>", "%0a", String(repeating: "\u{0}", count: 300), "",
    ]

    @Test("A record with any text is one line of valid JSON and reads back unchanged", arguments: hostile)
    func hostileText(text: String) async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        var facts = Fixture.facts(1)
        facts = CallFacts(call: facts.call, peer: Peer(address: .local, text: text))
        facts.attempted = PresentedName(text)
        facts.authenticator = PluginName(stringLiteral: text)
        facts.audience = text
        facts.rule = text
        try await journal.record([JournalRecord(.intent, facts: facts, result: text)])
        // The line must also survive recovery after a crash.
        let crashed = try fixture.afterCrash()
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.map(\.kind) == ["start", "intent", "stop"])
        for member in ["peer", "authenticator", "audience", "rule", "result"] {
            #expect(lines[1].members[member] as? String == text, "\(member)")
        }
        #expect(lines[1].members["attempted"] as? String == JournalLineWriter.truncated(text, to: 64))
        await (try crashed.open()).close()
        #expect(try crashed.lines().map(\.kind).suffix(3) == ["outcome", "start", "stop"])
        #expect(try crashed.lines()[2].members["rule"] as? String == text)
    }

    @Test("The directory, the segments and the lock are accessible to the owner only")
    func permissions() async throws {
        let fixture = JournalFixture()
        await (try fixture.open()).close()
        #expect(try fixture.directory.mode() == 0o700)
        #expect(try fixture.directory.names() == ["journal-00000000000000000001.jsonl", "lock"])
        for name in try fixture.directory.names() { #expect(try fixture.directory.mode(name) == 0o600) }
    }

    @Test("A second opening is rejected until the first is closed")
    func secondOpener() async throws {
        let fixture = JournalFixture()
        let first = try fixture.open()
        let error = #expect(throws: JournalUnavailable.self) { try fixture.open() }
        #expect(error?.detail.contains("locked") == true)
        await first.close()
        await (try fixture.open()).close()
        #expect(try fixture.lines().map(\.kind) == ["start", "stop", "start", "stop"])
    }

    @Test("Segments rotate at their maximum length, are named by their first line, and continue the chain")
    func rotation() async throws {
        let fixture = JournalFixture(segmentBytes: 1000)
        let journal = try fixture.open()
        for number in 0..<40 { try await journal.record([Fixture.intent(number), Fixture.outcome(number)]) }
        await journal.close()
        let lines = try fixture.lines()
        #expect(lines.count == 82)
        let segments = try JournalReading.segments(in: fixture.directory)
        #expect(segments.count > 20)
        for segment in segments {
            let first = try fixture.directory.bytes(segment).split(separator: 0x0A).first
            let line = try JournalReading.line(Array(try #require(first)))
            #expect(segment == "journal-\(String(repeating: "0", count: 20 - "\(line.seq)".count))\(line.seq).jsonl")
        }
    }

    @Test("The tests' own verifier finds changed, missing and inserted lines")
    func verifier() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        for number in 0..<5 { try await journal.record([Fixture.intent(number)]) }
        await journal.close()
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let good = try fixture.directory.bytes(name)
        let lines = good.split(separator: 0x0A)
        var flipped = good
        flipped[flipped.count / 2] ^= 1
        let missing = Array((lines[..<2] + lines[3...]).joined(separator: [0x0A])) + [0x0A]
        let doubled = Array((lines[..<2] + lines[1...]).joined(separator: [0x0A])) + [0x0A]
        for bad in [flipped, missing, doubled] {
            try fixture.directory.write(bad, to: name)
            #expect(throws: (any Error).self) { try fixture.lines() }
        }
        try fixture.directory.write(good, to: name)
        #expect(try fixture.lines().count == 7)
    }
}
