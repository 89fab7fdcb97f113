import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayStore
@testable import GatewaySupport

private typealias Fixture = JournalFixture

@Suite("Journal: hostile strings", .timeLimit(.minutes(5)))
struct JournalInjectionTests {
    /// Strings that end lines or texts, control terminals, or are not valid UTF-8.
    private static let additions: [[UInt8]] = [
        [], [0x0D, 0x0A], [0x00], [0x1B, 0x5B, 0x32, 0x4A], [0xFF, 0xC0, 0xAF, 0xED, 0xA0, 0x80],
        Array("\r\n{\"seq\":1,\"kind\":\"intent\"}\n\u{0}\u{1B}]0;x\u{7}\u{85}\u{2028}".utf8),
    ]

    @Test(
        "Every text of a record stays one line of valid JSON and reads back unchanged",
        .enabled(if: !TestData.naughtyStrings.isEmpty, "no corpora here"))
    func naughtyStrings() async throws {
        let fixture = JournalFixture(isSigned: true)
        let journal = try fixture.open()
        var texts: [String] = []
        for text in TestData.naughtyStrings {
            for addition in Self.additions {
                // Decoded as text from a socket is: invalid UTF-8 is replaced.
                texts.append(String(decoding: Array(text.utf8) + addition, as: UTF8.self))
                texts.append(String(decoding: addition + Array(text.utf8), as: UTF8.self))
            }
        }
        for chunk in stride(from: 0, to: texts.count, by: 500) {
            try await journal.record(texts[chunk..<min(chunk + 500, texts.count)].map(Self.record))
        }
        await journal.close()
        let name = try #require(try JournalReading.segments(in: fixture.directory).first)
        let bytes = try fixture.directory.bytes(name)
        #expect(!bytes.contains { ($0 < 0x20 && $0 != 0x0A) || $0 == 0x7F })
        let lines = try fixture.lines().filter { $0.kind == "refusal" }
        #expect(lines.count == texts.count)
        for (line, text) in zip(lines, texts) {
            // Foundation, which decoded the lines, removes a byte order mark at the start of a text.
            let record = try JSONParser().parse(Array(line.text.utf8).span)
            for member in ["peer", "authenticator", "audience", "rule", "result", "target"] {
                #expect(record[member] == .string(text))
            }
            #expect(record["attempted"] == .string(JournalLineWriter.truncated(text, to: 64)))
            #expect(line.call == Fixture.call(1))
        }
        #expect(try fixture.verified().finding == nil)
    }

    /// A record with the text in every text member.
    private static func record(_ text: String) -> JournalRecord {
        var facts = CallFacts(call: Fixture.facts(1).call, peer: Peer(address: .local, text: text))
        facts.attempted = PresentedName(text)
        facts.authenticator = PluginName(stringLiteral: text)
        facts.audience = text
        facts.rule = text
        return JournalRecord(.rejection, facts: facts, result: text, target: text)
    }
}
