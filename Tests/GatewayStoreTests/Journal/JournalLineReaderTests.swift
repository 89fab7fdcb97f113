import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayStore

@Suite("Journal: reading one line")
struct JournalLineReaderTests {
    @Test("A line matches its own hash, and with any byte changed it does not")
    func everyByteCounts() async throws {
        let fixture = JournalFixture()
        let journal = try fixture.open()
        try await journal.record([JournalFixture.intent(1)])
        await journal.close()
        for line in try fixture.lines() {
            let bytes = Array(line.text.utf8)
            #expect(JournalLineReader(bytes: bytes[...]).verifiedHash != nil)
            for place in bytes.indices {
                var changed = bytes
                changed[place] ^= 1
                #expect(JournalLineReader(bytes: changed[...]).verifiedHash == nil, "byte \(place)")
                #expect(JournalLineReader(bytes: bytes[..<place]).verifiedHash == nil, "cut at \(place)")
            }
        }
    }

    @Test("Members are found by their full names, and not inside texts")
    func members() {
        let text =
            #"{"seq":12,"at":"2026-11-21T07:00:00.000001Z","kind":"outcome","attempted":"x,\"user\":\"eve",""#
            + #"users":"all","user":"bob","ms":7,"status":200}"#
        // Inside a buffer with other lines, as on disk.
        let bytes = Array("\n\n\(text)\n".utf8)
        let line = JournalLineReader(bytes: bytes[2..<(bytes.count - 1)])
        #expect(line.sequence == 12)
        #expect(line.kind == .outcome)
        #expect(line.time?.microseconds ?? 0 > 0)
        #expect(line.text("user") == "bob")
        #expect(line.text("users") == "all")
        #expect(line.text("attempted") == #"x,\"#)
        #expect(line.number("ms") == 7)
        #expect(line.number("status") == 200)
        #expect(line.text("ms") == nil && line.number("user") == nil)
        for name in ["use", "ser", "seq", ""] as [StaticString] { #expect(line.text(name) == nil) }
        // A truncated line is never read beyond its end.
        for end in 2..<bytes.count {
            let cut = JournalLineReader(bytes: bytes[2..<end])
            if let user = cut.text("user") { #expect(user == "bob") }
            #expect([nil, 2, 20, 200].contains(cut.number("status")))
        }
        #expect(JournalLineReader(bytes: Array("x\(text)".utf8)[...]).sequence == nil)
    }
}
