import GatewaySupport
import Testing

@testable import GatewayHTTP

/// Tests of the functions that process eight bytes at a time: each byte value must be found at each of eight positions.
@Suite struct PlainTextTests {
    private func end(_ bytes: [UInt8], from start: Int, before end: Int) -> Int {
        bytes.span.endOfPlainText(from: start, before: end)
    }

    // An expectation cannot capture a span.
    private func fieldValueClass(_ bytes: [UInt8]) -> FieldValueClass { bytes.span.fieldValueClass }
    private func isLowercaseToken(_ bytes: [UInt8]) -> Bool { bytes.span.isLowercaseToken }
    private func alphanumericCount(_ bytes: [UInt8], in range: Range<Int>) -> Int {
        bytes.span.alphanumericCount(in: range)
    }

    @Test("Each byte value is found at each position", arguments: [0x20, 0x7E] as [UInt8])
    func eachByte(plain: UInt8) {
        for byte in UInt8.min ... .max {
            for place in 0..<20 {
                var bytes = [UInt8](repeating: plain, count: 20)
                bytes[place] = byte
                let isPlain = (0x20...0x7E).contains(byte)
                #expect(end(bytes, from: 0, before: 20) == (isPlain ? 20 : place), "\(byte) at \(place)")
            }
        }
    }

    @Test("The first of two bytes that are not plain text counts")
    func two() {
        let pairs: [(UInt8, UInt8)] = [(0x1F, 0x7F), (0x00, 0xFF), (0xFF, 0x00), (0x0D, 0x0A), (0x80, 0x1F)]
        for (first, second) in pairs {
            for place in 0..<15 {
                var bytes = [UInt8](repeating: 0x61, count: 16)
                bytes[place] = first
                bytes[place + 1] = second
                #expect(end(bytes, from: 0, before: 16) == place)
            }
        }
    }

    @Test("Bytes before the start and after the end are not examined")
    func bounds() {
        let bytes: [UInt8] = [0x00] + [UInt8](repeating: 0x61, count: 17) + [0x00]
        for start in 1...18 {
            for end in start...18 { #expect(self.end(bytes, from: start, before: end) == end) }
        }
    }

    @Test("Each byte value is classified at each position of a field value", arguments: [0x20, 0x7E, 0xFF] as [UInt8])
    func fieldValueClass(other: UInt8) {
        for byte in UInt8.min ... .max {
            for place in 0..<20 {
                var bytes = [UInt8](repeating: other, count: 20)
                bytes[place] = byte
                let expected: FieldValueClass =
                    byte.isForbiddenInValue ? .forbidden : byte >= 0x80 || other >= 0x80 ? .obsText : .ascii
                #expect(fieldValueClass(bytes) == expected, "\(byte) at \(place)")
            }
        }
        #expect(fieldValueClass([]) == .ascii)
    }

    @Test("Each byte value is classified at each position of an HTTP/2 field name", arguments: ["!", "a", "~"])
    func lowercaseToken(other: Character) {
        for byte in UInt8.min ... .max {
            for place in 0..<20 {
                var bytes = [UInt8](repeating: other.asciiValue!, count: 20)
                bytes[place] = byte
                let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                #expect(isLowercaseToken(bytes) == (byte.isTokenByte && !isCapital), "\(byte) at \(place)")
            }
        }
        #expect(!isLowercaseToken([]))
    }

    @Test("Only the letters and digits within the range are counted")
    func alphanumericCount() {
        for byte in UInt8.min ... .max {
            for place in 0..<20 {
                var bytes = [UInt8](repeating: UInt8(ascii: "-"), count: 20)
                bytes[place] = byte
                let expected = byte.isAlphanumeric ? 1 : 0
                #expect(alphanumericCount(bytes, in: 0..<20) == expected, "\(byte) at \(place)")
                #expect(alphanumericCount(bytes, in: 0..<place) == 0)
                #expect(alphanumericCount(bytes, in: place + 1..<20) == 0)
            }
        }
        let bytes = Array("a-B_0...zZ9 and more of it".utf8)
        for start in 0...bytes.count {
            for end in start...bytes.count {
                #expect(alphanumericCount(bytes, in: start..<end) == bytes[start..<end].count { $0.isAlphanumeric })
            }
        }
    }
}
