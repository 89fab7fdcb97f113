import GatewayCore
import GatewaySupport
import Testing

@testable import GatewayHTTP

/// Tests that compare the fast paths of the request line parser with parsing one byte at a time.
@Suite struct RequestLineTests {
    private func limits(requestLine: Int) -> ListenerConfiguration.Limits {
        var limits = ListenerConfiguration.Limits()
        limits.requestLine = requestLine
        return limits
    }

    private func whole(_ bytes: [UInt8], _ limits: ListenerConfiguration.Limits) -> [Framed] {
        frame([bytes[...]], limits: limits)
    }

    private func byByte(_ bytes: [UInt8], _ limits: ListenerConfiguration.Limits) -> [Framed] {
        frame(bytes.indices.map { bytes[$0...$0] }, limits: limits)
    }

    @Test("A line up to the limit is accepted and a longer one is rejected", arguments: ["", "\r\n", "\r\n\r\n"])
    func limit(lead: String) {
        for line in ["GET / HTTP/1.1", "GET /a?b HTTP/1.0", "DELETE /api/register/1-2-3?x HTTP/1.1"] {
            let request = Array((lead + line + "\r\nHost: a\r\n\r\n").utf8)
            for limit in 1...(line.utf8.count + 3) {
                let framed = whole(request, limits(requestLine: limit))
                #expect(framed == byByte(request, limits(requestLine: limit)))
                #expect(framed.count == 1 && (framed.first?.code == .uriTooLong) == (limit < line.utf8.count))
            }
        }
    }

    @Test("Each byte at each position has the same result in one piece and one byte at a time")
    func anyByte() {
        let request = Array("GET /a?b HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n".utf8)
        for place in request.indices {
            for byte in UInt8.min ... .max {
                var changed = request
                changed[place] = byte
                #expect(
                    whole(changed, limits(requestLine: 64)) == byByte(changed, limits(requestLine: 64)),
                    "\(byte) at \(place)")
            }
        }
    }

    @Test(
        "a word is read without case at any length, and nothing else is",
        arguments: ["host", "expect-x", "a-b-c-d-e-f-g-h-i", "transfer-encoding"] as [StaticString])
    func words(word: StaticString) {
        let bytes = Array("\(word)".utf8)
        func reads(_ text: [UInt8], _ range: Range<Int>? = nil) -> Bool {
            text.span.equalsIgnoringCase(word, in: range ?? text.indices)
        }
        #expect(reads(bytes) && reads(Array("\(word)".uppercased().utf8)))
        #expect(!reads(bytes.dropLast()) && !reads(bytes + [0x61]))
        for place in bytes.indices {
            for other in UInt8(ascii: "!")...UInt8(ascii: "~") where other | 0x20 != bytes[place] {
                var changed = bytes
                changed[place] = other
                #expect(!reads(changed), "\(other) at \(place)")
            }
        }
        // Within a longer buffer, from any position.
        for lead in 0..<9 {
            let text = [UInt8](repeating: 0x7A, count: lead) + bytes + [0x7A]
            #expect(reads(text, lead..<(lead + bytes.count)))
        }
    }
}
