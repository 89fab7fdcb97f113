import Testing

@testable import GatewayStore

@Suite("Journal: a line as it was found")
struct JournalLineReaderTests {
    @Test("a line carries its own hash, and with any byte changed it does not")
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
}
